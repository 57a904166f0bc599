"""How a home page was put together, and the questions about a post that is missing."""

import pytest
from django.contrib.auth.models import Permission

from apps.accounts.models import User
from apps.audit.assembly import assembly
from apps.audit.checklist import Mark, checklist, post_id_in
from apps.audit.explain import Source
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user
from apps.paging import Cursor
from apps.posts.actions import delete_post
from apps.ranking.ordering import begin
from apps.timeline.home import home_timeline
from tests.support.factories import deliver, make_user, publish

pytestmark = pytest.mark.django_db
ABSENT = 1234567890123456789


@pytest.fixture
def online(alice, bob, carol):
    """Bob follows Alice and Carol, and reads."""
    follow_user(bob, carol)
    home_timeline(bob, Cursor())
    return bob


def answers(found):
    return [check.mark for check in found.checks]


def test_what_stayed_and_what_was_dropped_with_reasons(alice, carol, online):
    kept = publish(alice, "kept")
    muted = publish(carol, "muted")
    hidden = publish(alice, "about rhubarb")
    gone = publish(alice, "gone")
    last = publish(alice, "last")
    deliver()
    mute_user(online, carol)
    delete_post(gone.pk, by=alice)
    create_filter(online, FilterChange("Pies", ["home"], act="hide", keywords=[KeywordChange(keyword="rhubarb")]))  # fmt: skip
    made = assembly(online, Cursor())
    rows = {row.item.id: row for row in made.rows}
    everything = [last.pk, hidden.pk, muted.pk, kept.pk]
    assert [row.item.id for row in made.rows] == sorted(everything, reverse=True)
    assert (rows[kept.pk].place, rows[kept.pk].explanation.way) == (2, Source.PUSH)
    assert (rows[muted.pk].kept, rows[muted.pk].explanation.way) == (False, Source.MUTED)
    assert (rows[hidden.pk].kept, rows[hidden.pk].hidden_by) == (False, ("Pies",))
    assert (made.candidates - made.gone, made.authors) == (4, 2)
    assert {row.item.id for row in made.chosen("dropped", "")} == {hidden.pk, muted.pk}
    assert [row.item.id for row in made.chosen("kept", "push")] == [last.pk, kept.pk]


def test_times_of_stages_fill_the_bar(alice, online):
    publish(alice)
    deliver()
    made = assembly(online, Cursor())
    assert {"skeleton", "rules"} <= {one.name for one in made.stages}
    assert sum(one.width for one in made.stages) == pytest.approx(1000, abs=len(made.stages))
    assert made.stages[0].start == 0
    assert made.milliseconds > 0


def test_pages_of_the_explanation_are_those_of_the_home_page(alice, online):
    posts = [publish(alice, f"post {number}") for number in range(5)]
    deliver()
    first = assembly(online, Cursor(limit=3))
    second = assembly(online, Cursor(limit=3, max_id=first.page.older))
    assert [row.item.id for made in (first, second) for row in made.rows] == [post.pk for post in posts[::-1]]  # fmt: skip


def test_the_score_of_the_ranked_timeline_is_told_when_there_is_one(alice, online):
    post = publish(alice)
    deliver()
    assert assembly(online, Cursor()).rows[0].scored is None
    begin(online)
    scored = assembly(online, Cursor()).rows[0].scored
    assert scored is not None
    assert scored.post_id == post.pk


def test_the_checklist_stops_at_the_first_no(alice, carol, online):
    post, stranger = publish(alice), publish(make_user(), "unknown")
    deliver()
    found = checklist(online, post.pk)
    assert answers(found) == [Mark.YES] * 9
    assert "below 0 other posts" in found.checks[-1].question
    found = checklist(online, stranger.pk)
    assert answers(found)[:3] == [Mark.YES, Mark.NO, Mark.NOT_ASKED]
    assert "You do not follow" in found.checks[1].text
    mute_user(online, alice)
    assert answers(checklist(online, post.pk)).index(Mark.NO) == 3


def test_a_filter_that_hides_it_is_named(alice, online):
    post = publish(alice, "rhubarb")
    deliver()
    create_filter(online, FilterChange("Pies", ["home"], act="hide", keywords=[KeywordChange(keyword="rhubarb")]))  # fmt: skip
    found = checklist(online, post.pk)
    assert answers(found).index(Mark.NO) == 7
    assert "Pies" in found.checks[7].text


def test_all_that_is_not_for_the_reader_is_one_answer(alice, carol, online):
    """S32."""
    deleted = publish(alice, "deleted")
    delete_post(deleted.pk, by=alice)
    restricted = publish(carol, "restricted @alice", visibility="mentioned")
    blocked = publish(carol, "blocked")
    block_user(carol, online)
    found = [checklist(online, one) for one in (ABSENT, deleted.pk, restricted.pk, blocked.pk, 0)]
    assert [one.item for one in found] == [None] * 5
    assert all(one.checks == found[0].checks for one in found)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1611570114275049488", 1611570114275049488),
        (" https://example.org/@alice/1611570114275049488/ ", 1611570114275049488),
        ("/@alice/1611570114275049488?x=1#p", 1611570114275049488),
        ("hello", None), ("", None), ("9" * 30, None), ("٣", None), ("0", None),
    ],
)  # fmt: skip
def test_what_is_pasted_may_be_anything(text, number):
    assert post_id_in(text) == number


def test_the_page_says_it_in_both_languages(alice, online, page_of):
    post = publish(alice, "hello there")
    deliver()
    browser = page_of(online)
    page = browser.get("/explain").content.decode()
    for said in ("Where the time went", "<rect", "hello there", "push", 'href="?show=dropped"'):
        assert said in page
    asked = browser.get("/explain", {"post": f"http://testserver/@alice/{post.pk}"})
    assert "It is on your home page, below" in asked.content.decode()
    assert browser.get("/explain", {"post": "x" * 400}).status_code == 200
    assert browser.get("/explain?show=x&way=x").status_code == 200
    assert "hello there" not in browser.get("/explain?show=dropped").content.decode()
    chinese = browser.get("/explain", headers={"Accept-Language": "zh-CN"}).content.decode()
    assert "时间花在哪里" in chinese


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
    assert "A post for some only" in page
