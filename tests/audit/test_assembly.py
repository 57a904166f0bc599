"""How a home page was put together, and the questions about a post that is missing."""

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.audit.explain import Mark, assembly, checklist, explain, post_id_in
from apps.dates import machine_time
from apps.engagement.actions import mark_post_read
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk
from apps.timeline.pipeline.reasons import Reason
from feedcache.ids import to_base36
from tests.support.factories import deliver, delivered, make_user, publish, repost

pytestmark = pytest.mark.django_db
ABSENT = 1234567890123456789


@pytest.fixture
def online(alice, bob, carol):
    """Bob follows Alice and Carol, and reads."""
    follow_user(bob, carol)
    home_timeline(bob, Cursor())
    return bob


def is_on_home(found):
    return found.explanation is not None and found.explanation.on_home


def answers(found):
    return [check.mark for check in found.checks]


@pytest.mark.slow
def test_what_stayed_and_what_was_dropped_with_reasons(alice, carol, online):
    kept = publish(alice, "kept")
    muted = publish(carol, "muted")
    hidden = publish(alice, "about rhubarb")
    gone = publish(alice, "gone")
    last = publish(alice, "last")
    deliver()
    mute_user(online, carol)
    delete_post(gone.pk, by=alice)
    create_filter(
        online,
        FilterChange("Pies", ["home"], act="hide", keywords=[KeywordChange(keyword="rhubarb")]),
    )
    made = assembly(online, Cursor())
    rows = {row.item.id: row for row in made.rows}
    everything = [last.pk, hidden.pk, muted.pk, kept.pk]
    assert [row.item.id for row in made.rows] == sorted(everything, reverse=True)
    assert (rows[kept.pk].place, rows[kept.pk].explanation.reason) == (2, Reason.PUSH)
    assert (rows[muted.pk].is_on_page, rows[muted.pk].explanation.reason) == (False, Reason.MUTED)
    filtered = rows[hidden.pk].explanation
    assert (rows[hidden.pk].is_on_page, filtered.reason, filtered.who) == (
        False,
        Reason.FILTERED,
        "Pies",
    )
    assert (made.candidates - made.invisible, made.authors) == (4, 2)
    assert {row.item.id for row in made.rows if not row.is_on_page} == {hidden.pk, muted.pk}


@pytest.mark.slow
def test_what_was_left_out_is_summed_up_before_the_posts(alice, carol, online, page_of):
    browser = page_of(online)
    assert "Nothing was left out" in browser.get("/explain").content.decode()
    kept = [publish(alice, "kept")]
    muted = [publish(carol, "muted"), publish(carol, "muted too")]
    publish(alice, "about rhubarb")
    gone = make_user("dora")
    follow_user(online, gone)
    delivered(gone, "of an account that is suspended")
    mute_user(online, carol)
    User.objects.filter(pk=gone.pk).update(suspended_at=timezone.now())
    create_filter(
        online,
        FilterChange("Pies", ["home"], act="hide", keywords=[KeywordChange(keyword="rhubarb")]),
    )
    page = browser.get("/explain").content.decode()
    assert (
        "4 posts were left out: 2 by mutes, 1 by a filter, 1 deleted or not visible to you." in page
    )
    parts = page.split("On this page")
    assert all(f'/{post.pk}"' in parts[0] and f'/{post.pk}"' not in parts[1] for post in muted)
    assert all(f'/{post.pk}"' in parts[1] and f'/{post.pk}"' not in parts[0] for post in kept)
    assert page.index("Why don't I see a post?") < page.index("4 posts were left out")
    browser.cookies["lang"] = "zh-hans"
    page = browser.get("/explain").content.decode()
    assert "有 4 条未显示：2 条因静音，1 条因过滤规则，1 条已删除或你无权查看。" in page


def test_a_short_address_is_understood(alice, online, page_of):
    post = delivered(alice)
    for address in (f"/p/{to_base36(post.pk)}", f"http://testserver/p/{to_base36(post.pk)}?x=1"):
        page = page_of(online).get("/explain", {"post": address})
        assert page.context["checked"].explanation.item.id == post.pk


def test_times_of_stages_fill_the_bar(alice, online):
    delivered(alice)
    made = assembly(online, Cursor())
    assert {"candidates", "rules"} <= {one.name for one in made.stages}
    assert sum(one.width for one in made.stages) == pytest.approx(1000, abs=len(made.stages))
    assert made.stages[0].start == 0
    assert made.milliseconds > 0


@pytest.mark.slow
def test_pages_of_the_explanation_are_those_of_the_home_page(alice, online):
    posts = [publish(alice, f"post {number}") for number in range(5)]
    deliver()
    first = assembly(online, Cursor(limit=3))
    second = assembly(online, Cursor(limit=3, max_id=first.page.older))
    assert [row.item.id for made in (first, second) for row in made.rows] == [
        post.pk for post in posts[::-1]
    ]


def test_the_checklist_stops_at_the_first_no(alice, carol, online):
    post, stranger = publish(alice), publish(make_user(), "unknown")
    deliver()
    found = checklist(online, post.pk)
    assert is_on_home(found)
    assert (len(found.checks), found.unasked) == (11, 0)
    assert Mark.FAILED not in answers(found)
    found = checklist(online, stranger.pk)
    assert (answers(found).index(Mark.FAILED), len(found.checks), found.unasked) == (7, 8, 3)
    assert not is_on_home(found)
    mute_user(online, alice)
    found = checklist(online, post.pk)
    assert (answers(found), found.unasked) == ([Mark.PASSED, Mark.FAILED], 9)


@pytest.mark.slow
def test_the_first_rule_that_drops_a_post_is_the_one_that_is_told(alice, online):
    """In the page's order: whom one mutes, then what one has read, then what one filters."""
    post = delivered(alice, "rhubarb")
    act = FilterChange("Pies", ["home"], act="hide", keywords=[KeywordChange(keyword="rhubarb")])
    create_filter(online, act)
    User.objects.filter(pk=online.pk).update(hides_read=True)
    mark_post_read(online, post.pk)
    online = user_by_id(online.pk)
    assert explain(online, post.pk).reason == Reason.READ
    mute_user(online, alice)
    assert explain(online, post.pk).reason == Reason.MUTED


@pytest.mark.slow
def test_every_question_has_an_answer_that_fits_the_post(alice, carol, online):
    follow_tag(online, "rivers")
    online = user_by_id(online.pk)
    circle = create_group(Circle, carol, name="Ours", is_shared=False)
    add_members(Circle, carol, circle.pk, [online.pk])
    posts = {
        "by alice": publish(alice),
        "own": publish(online),
        "a repost": repost(alice, publish(make_user()).pk),
        "a tag": publish(make_user(), "#rivers"),
        "for a circle": publish(carol, "for some", visibility="circle", circle_id=circle.pk),
    }
    deliver()

    def asked(name):
        found = checklist(online, posts[name].pk)
        assert is_on_home(found)
        return {check.question: check.answer for check in found.checks}

    follow = "Do you follow its author, or is it a public post with a tag you follow?"
    shared, reposts = (
        "Do you hide reposts by this person?",
        "This does not apply here: it is not a repost.",
    )
    said = asked("by alice")
    assert (said[follow], said["Have you muted its author?"], said[shared]) == (
        "Yes.",
        "No.",
        reposts,
    )
    assert (
        said["Have you read it?"] == "This does not apply here: you do not hide what you have read."
    )
    assert said["Has it arrived on your home page?"] == "Yes."
    assert asked("own")[follow] == "This does not apply here: it is your own."
    assert asked("a tag")[follow] == "Yes."
    unfollow_user(online, carol)
    online = user_by_id(online.pk)
    belongs = "This does not apply here: it is for a circle that you belong to."
    assert asked("for a circle")[follow] == belongs
    said = asked("a repost")
    assert (said["Do you follow the person who reposted it?"], said[shared]) == ("Yes.", "No.")
    assert said["Do you read its author only in other languages?"] == (
        "This does not apply here: reposts appear in every language."
    )


@pytest.mark.long
def test_the_position_counts_what_is_on_the_page(alice, carol, online):
    first, second = publish(alice), publish(alice)
    publish(carol)
    deliver()
    assert checklist(online, first.pk).outcome == "It is on your home page, below 2 newer posts."
    mute_user(online, carol)
    assert checklist(online, first.pk).outcome == "It is on your home page, below 1 newer post."
    assert checklist(online, second.pk).outcome == "It is on your home page, at the very top."
    for _number in range(41):
        publish(alice)
    deliver()
    assert checklist(online, first.pk).outcome == "It is on your home page, below many newer posts."


@pytest.mark.slow
def test_a_filter_that_hides_it_is_named(alice, online):
    post = delivered(alice, "rhubarb")
    create_filter(
        online,
        FilterChange("Pies", ["home"], act="hide", keywords=[KeywordChange(keyword="rhubarb")]),
    )
    found = checklist(online, post.pk)
    assert answers(found).index(Mark.FAILED) == len(found.checks) - 1
    assert (found.checks[-1].question, found.checks[-1].answer) == (
        "Does one of your filters hide it?",
        "Yes.",
    )
    assert found.explanation is not None
    assert "Pies" in found.explanation.text


def test_all_that_is_not_for_the_reader_is_one_answer(alice, carol, online):
    deleted = publish(alice, "deleted")
    delete_post(deleted.pk, by=alice)
    restricted = publish(carol, "restricted @alice", visibility="mentioned")
    blocked = publish(carol, "blocked")
    block_user(carol, online)
    found = [checklist(online, one) for one in (ABSENT, deleted.pk, restricted.pk, blocked.pk, 0)]
    assert found == [found[0]] * 5
    assert found[0].explanation is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1611570114275049488", 1611570114275049488),
        (" https://example.org/@alice/1611570114275049488/ ", 1611570114275049488),
        ("/@alice/1611570114275049488?x=1#p", 1611570114275049488),
        (f"https://example.org/p/{to_base36(1611570114275049488)}", 1611570114275049488),
        ("example.org/@alice/1611570114275049488", 1611570114275049488),
        (f"{settings.SITE_URL}/@alice/1611570114275049488", 1611570114275049488),
        ("https://elsewhere.example/@alice/1611570114275049488", None),
        ("elsewhere.example/@alice/1611570114275049488", None),
        ("hello 1611570114275049488", None), ("http://[/@alice/1", None),
        ("/p/ZZZZZZZZZZZZZZ", None),
        ("hello", None), ("", None), ("9" * 30, None), ("٣", None), ("0", None),
    ],
)  # fmt: skip
def test_what_is_pasted_may_be_anything(text, number):
    assert post_id_in(text, host="example.org") == number


def test_the_page_says_it_in_both_languages(alice, online, page_of):
    delivered(alice, "hello there")
    browser = page_of(online)
    page = browser.get("/explain").content.decode()
    for said in ("For engineers", "Where the time went", "<rect", "hello there"):
        assert said in page
    chinese = browser.get("/explain", headers={"Accept-Language": "zh-CN"}).content.decode()
    assert "耗时分布" in chinese


@pytest.mark.slow
def test_the_answer_begins_with_one_sentence(alice, carol, online, page_of):
    """Then the checks, the rest of them in one sentence; and nothing about other posts that could contradict it."""
    browser, post = page_of(online), publish(alice, "hello there")
    deliver()
    page = browser.get("/explain", {"post": f"http://testserver/@alice/{post.pk}"}).content.decode()
    page = page[page.index("<h1") :]
    instant = FanoutChunk.objects.get(job=post.pk).finished_at
    assert instant is not None
    parts = [
        "Why is this on your home page?",
        "<b>It is on your home page, at the very top.</b> It was put on your page (",
        f'<time datetime="{machine_time(instant)}" data-full>',
        'because you follow <a href="/@alice">@alice</a>.',
        "hello there",
        "Have you muted its author? <b>No.</b>",
        "Ask about another post",
    ]
    assert [part for part in parts if part not in page] == []
    assert sorted(parts, key=page.index) == parts
    assert "checks were not needed" not in page
    mute_user(online, alice)
    page = browser.get("/explain", {"post": str(post.pk)}).content.decode()
    muted = 'You mute <a href="/@alice">@alice</a>.'
    assert f"<b>It is not on your home page.</b> {muted}" in page
    assert 'Have you muted its author? <b class="failed">Yes.</b>' in page
    assert "The remaining 9 checks were not needed: the answer was already clear." in page
    assert "Nothing was left out" not in page
    browser.cookies["lang"] = "zh-hans"
    page = browser.get("/explain", {"post": str(post.pk)}).content.decode()
    assert "其余 9 项检查不再需要：答案已经清楚。" in page


@pytest.mark.long
@pytest.mark.parametrize(
    "text", ["", "  ", "hello", "x" * 400, "https://elsewhere.example/@alice/1611570114275049488"]
)
def test_what_is_no_address_is_answered_too(online, page_of, text):
    context = page_of(online).get("/explain", {"post": text}).context
    assert context["error"]
    assert "checked" not in context


def test_the_address_of_nothing_is_answered_too(online, page_of):
    context = page_of(online).get("/explain", {"post": str(ABSENT)}).context
    assert (context["checked"].explanation, "error" in context) == (None, False)


@pytest.mark.slow
def test_staff_explain_the_page_of_somebody_without_reading_what_is_for_some_only(alice, online, page_of):  # fmt: skip
    publish(alice, "for everybody")
    publish(alice, "a secret", visibility="followers")
    deliver()
    address = f"/explain/@{online.handle}"
    assert page_of(alice).get(address).status_code == 404
    staff = User.objects.get(pk=alice.pk)
    staff.is_staff = True
    staff.save()
    assert (
        page_of(staff).get(address).status_code == 404
    )  # the right to see accounts is one of its own
    staff.user_permissions.add(Permission.objects.get(codename="view_user"))
    page = page_of(User.objects.get(pk=alice.pk)).get(address).content.decode()
    assert ("for everybody" in page, "a secret" in page) == (True, False)
