"""Why a post is there or not; and that nobody learns of what is hidden."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.audit.explain import Mark, checklist, explain, explain_home
from apps.errors import NotFound
from apps.events.leases import State
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, Followee, Follower
from apps.moderation.actions import hide_post
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.tags.actions import follow_tag
from apps.timeline.fanout.progress import discard_dead
from apps.timeline.fanout.receipts import purge, unpack
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, Policy
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.sources.home_cache import HOME
from tests.api.test_endpoints import bare
from tests.support.factories import deliver, delivered, make_user, moderator, publish, repost
from tests.support.faults import dead_redis
from tests.support.memory import empty_redis

pytestmark = pytest.mark.django_db
ABSENT = 1234567890123456789


def way(viewer, post):
    found = explain(viewer, post.pk)
    shown = {item.id for item in home_timeline(viewer, Cursor(limit=40)).items}
    assert found.on_home == (post.pk in shown)  # whatever the reason: it is what the page does
    assert "%" not in found.text
    return found.reason


@pytest.fixture
def online(bob):
    home_timeline(bob, Cursor())
    return bob


def test_pushed(alice, online):
    post = delivered(alice)
    assert way(online, post) == Reason.PUSH
    found = explain(online, post.pk)
    assert found.when == FanoutChunk.objects.get(job=post.pk).finished_at
    assert (found.policy, found.attempts, found.who) == ("online", 1, "alice")


def age_follows():
    hour = timedelta(hours=1)
    Followee.objects.update(created_at=F("created_at") - hour)
    Follower.objects.update(created_at=F("created_at") - hour)


def test_made_on_return(alice, bob):
    age_follows()
    post = delivered(alice)
    assert way(bob, post) == Reason.REBUILT


def test_nobody_hears_of_a_delivery_to_somebody_else(alice, online, settings):
    """One chunk: bob had a page, dave had none; after a flush each hears what happened to them, no more."""
    dave = make_user("dave")
    follow_user(dave, alice)
    age_follows()
    post = delivered(alice)
    chunk = FanoutChunk.objects.get(job=post.pk)
    assert (chunk.expected, chunk.delivered, chunk.dormant) == (2, 1, 1)
    assert list(unpack(bytes(chunk.reached or b""))) == [online.pk]
    for _flush in range(2):
        assert (way(online, post), way(dave, post)) == (Reason.PUSH, Reason.REBUILT)
        empty_redis()
    assert explain(dave, post.pk).when is None
    assert "you had no stored home page" in explain(dave, post.pk).text
    settings.RECEIPT_DAYS = 0
    assert (purge(), purge()) == (1, 0)
    assert (way(online, post), way(dave, post)) == (Reason.FOLLOWED, Reason.FOLLOWED)
    assert explain(online, post.pk).text == "You follow @alice."


def test_a_followed_tag_and_a_muted_author(alice, carol):
    follow_tag(carol, "rivers")
    carol = user_by_id(carol.pk)
    post = delivered(alice, "the #rivers")
    assert way(carol, post) == Reason.TAG
    mute_user(carol, alice)
    assert way(carol, post) == Reason.MUTED
    found = checklist(carol, post.pk)
    assert [check.mark for check in found.checks] == [Mark.PASSED, Mark.FAILED]
    assert found.explanation is not None
    assert found.explanation.text == "You mute @alice."


def test_a_followed_tag_and_a_post_that_is_not_public(alice, carol):
    follow_tag(carol, "rivers")
    carol = user_by_id(carol.pk)
    post = delivered(alice, "the #rivers", visibility="unlisted")
    assert way(carol, post) == Reason.TAG_NOT_PUBLIC
    assert "only show public posts" in explain(carol, post.pk).text


def test_a_filter_that_hides_it_is_the_reason_everywhere(alice, online, api_of, page_of):
    post = publish(alice, "about rhubarb")
    keywords = [KeywordChange(keyword="rhubarb")]
    create_filter(online, FilterChange("Pies", ["home"], act="hide", keywords=keywords))
    online = user_by_id(online.pk)
    assert way(online, post) == Reason.FILTERED  # whether it is delivered or not
    deliver()
    assert way(online, post) == Reason.FILTERED
    told = api_of(online).get(f"/api/x/explain/statuses/{post.pk}").json()
    assert (told["on_home"], told["text"]) == (False, "Your filter hides it: Pies.")
    assert (
        "It is not on your home page."
        in page_of(online).get(f"/explain/{post.pk}").content.decode()
    )


def test_a_repost_names_who_reposted_whom(alice, online, carol):
    shared = repost(alice, publish(carol).pk)
    deliver()
    assert way(online, shared) == Reason.PUSH
    assert explain(online, shared.pk).text.startswith("@alice reposted this post by @carol. It was")
    assert explain(alice, shared.pk).text == "You reposted it."


def test_a_delivery_that_was_given_up_is_said_to_be(alice, online):
    post = publish(alice)
    HOME.remove(online.pk, [post.pk])
    deliver()
    HOME.remove(online.pk, [post.pk])
    FanoutChunk.objects.filter(job=post.pk).update(state=State.DEAD)
    assert way(online, post) == Reason.FAILED
    discard_dead([post.pk])
    assert way(online, post) == Reason.GIVEN_UP
    empty_redis()
    assert way(online, post) == Reason.FOLLOWED


def test_what_was_pulled_and_is_cached_now_is_not_said_to_be_pulled(alice, online):
    set_author_policy(alice, Policy.PULL, by="a test")
    post = delivered(alice)
    assert way(online, post) == Reason.PULL
    set_author_policy(alice, Policy.PUSH, by="a test")
    deliver()
    assert way(online, post) == Reason.FOLLOWED


def test_brought_by_a_follow(alice, carol):
    post = delivered(alice)
    home_timeline(carol, Cursor())
    follow_user(carol, alice)
    deliver()
    assert way(carol, post) == Reason.BACKFILL
    assert explain(carol, post.pk).when == Follower.objects.get(follower=carol).created_at


def test_without_windows_it_came_from_storage(alice, online):
    post = delivered(alice)
    with dead_redis():
        assert way(online, post) == Reason.STORAGE


def test_own_and_circle(alice, online):
    assert way(alice, publish(alice)) == Reason.OWN
    circle = create_group(Circle, alice, name="Ours", is_shared=False)
    add_members(Circle, alice, circle.pk, [online.pk])
    post = delivered(alice, "for some", visibility="circle", circle_id=circle.pk)
    assert way(online, post) == Reason.CIRCLE


def test_by_the_inbox(alice, online):
    post = delivered(alice, "for followers", visibility="followers")
    assert way(online, post) == Reason.PUSH


def test_not_followed_and_muted(alice, bob, carol):
    post = delivered(alice)
    assert way(carol, post) == Reason.NOT_FOLLOWED
    mute_user(bob, alice)
    assert way(bob, post) == Reason.MUTED


def test_a_post_that_came_by_a_repost_is_on_the_page(alice, online, carol):
    """Asked about the post itself, by its own address: what one sees is the repost."""
    post = delivered(carol)
    assert explain(online, post.pk).reason == Reason.NOT_FOLLOWED
    shared = repost(alice, post.pk)
    deliver()
    found = explain(online, post.pk)
    assert (found.on_home, found.item.id, found.reason) == (True, shared.pk, Reason.PUSH)
    mute_user(online, carol)
    assert not explain(online, post.pk).on_home


def test_a_repost_of_somebody_muted_names_whom(alice, online, carol):
    shared = repost(alice, publish(carol).pk)
    mute_user(online, carol)
    deliver()
    assert way(online, shared) == Reason.MUTED
    assert explain(online, shared.pk).who == "carol"


def test_on_its_way_failed_and_lost(alice, online):
    post = publish(alice)
    assert way(online, post) == Reason.WAITING
    deliver()
    HOME.remove(online.pk, [post.pk])
    assert way(online, post) == Reason.LOST
    due = timezone.now() + timedelta(seconds=30)
    chunk = FanoutChunk.objects.filter(job=post.pk)
    chunk.update(state=State.PENDING, due_at=due)
    assert way(online, post) == Reason.WAITING
    assert explain(online, post.pk).when == due
    chunk.update(state=State.DEAD)
    assert way(online, post) == Reason.FAILED


@pytest.mark.slow
def test_a_page_is_explained_in_a_fixed_number_of_queries(
    alice, online, django_assert_max_num_queries
):
    for _ in range(15):
        publish(alice)
    deliver()
    home_timeline(online, Cursor())
    with django_assert_max_num_queries(8):
        found = explain_home(online, Cursor())
    assert {one.reason for one in found.items} == {Reason.PUSH}
    assert len(found.items) == 15


@pytest.fixture
def hidden(alice, carol):
    """Posts that carol may not see, each for another reason."""
    enemy, foe, gone = make_user(), make_user(), make_user()
    deleted, shared = publish(alice), publish(enemy)
    posts = {
        "deleted": deleted.pk,
        "restricted": publish(alice, "for @nobody", visibility="mentioned").pk,
        "for followers": publish(alice, "quiet", visibility="followers").pk,
        "for friends": publish(alice, "for some", visibility="friends").pk,
        "blocks me": publish(enemy).pk,
        "blocked by me": publish(foe).pk,
        "suspended": publish(gone).pk,
        "hidden by staff": publish(alice).pk,
        "repost of what is hidden": repost(alice, shared.pk).pk,
    }
    hide_post(posts["hidden by staff"], by=moderator(), reason="A test.")
    delete_post(deleted.pk, by=alice)
    block_user(enemy, carol)
    block_user(carol, foe)
    User.objects.filter(pk=gone.pk).update(suspended_at=timezone.now())
    deliver()
    return posts


REASONS = ["deleted", "restricted", "for followers", "for friends", "blocks me", "blocked by me", "suspended",
           "hidden by staff", "repost of what is hidden"]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("reason", REASONS)
def test_what_is_hidden_is_explained_like_what_is_absent(
    carol, hidden, api_of, page_of, reason, django_assert_num_queries
):
    """Byte by byte, and in the same reads: nobody learns of a block, or that there is something."""
    follow_user(carol, make_user())
    post_id, program, browser = hidden[reason], api_of(carol), page_of(carol)
    with pytest.raises(NotFound) as error:
        explain(carol, post_id)
    with pytest.raises(NotFound) as absent:
        explain(carol, ABSENT)
    assert str(error.value) == str(absent.value)
    answers = [program.get(f"/api/x/explain/statuses/{one}") for one in (post_id, ABSENT)]
    assert answers[0].status_code == 404
    assert bare(answers[0]) == bare(answers[1])
    pages = [browser.get(f"/explain/{one}") for one in (post_id, ABSENT)]
    assert pages[0].status_code == 404
    texts = [
        page.content.replace(str(one).encode(), b"").replace(page["X-Request-Id"].encode(), b"")
        for page, one in zip(pages, (post_id, ABSENT), strict=True)
    ]
    assert texts[0] == texts[1]


RULES = [
    ("deleted", "it was deleted"),
    ("restricted", "it is for others only (mentioned)"),
    ("blocks me", "its author blocks them"),
    ("blocked by me", "they block its author"),
    ("suspended", "its author is suspended"),
    ("hidden by staff", "staff have hidden it"),
    ("repost of what is hidden", "what it reposts is hidden (its author blocks them)"),
]


@pytest.mark.slow
def test_staff_learn_the_rule(carol, hidden, capsys):
    for reason, words in RULES:
        call_command("explain", "carol", str(hidden[reason]))
        assert capsys.readouterr().out == f"@carol may not see it: {words}.\n"


def test_the_command_explains_a_page(alice, online, capsys):
    post = delivered(alice)
    call_command("explain", "bob", "--home")
    assert capsys.readouterr().out.startswith(f"{post.pk}  @alice  It was put on your page (")
    call_command("explain", "bob", str(post.pk))
    assert "policy online" in capsys.readouterr().out


def test_as_json(alice, online, api_of):
    posts = [publish(alice).pk for _ in range(3)]
    deliver()
    answer = api_of(online).get("/api/x/explain/home?limit=2")
    assert [one["id"] for one in answer.json()] == [str(one) for one in posts[:0:-1]]
    assert f"max_id={posts[1]}" in answer.headers["Link"]
    one = api_of(online).get(f"/api/x/explain/statuses/{posts[0]}").json()
    assert (one["on_home"], one["reason"]) == (True, "push")
    assert one["delivery"]["policy"] == "online"


def test_as_pages_from_the_menu_of_a_post_in_both_languages(alice, online, page_of):
    post = delivered(alice, "A post to explain.")
    browser = page_of(online)
    assert f'href="/explain/{post.pk}"' in browser.get(f"/@alice/{post.pk}").content.decode()
    page = browser.get(f"/explain/{post.pk}").content.decode()
    assert "It is on your home page." in page
    assert "A post to explain." in page
    assert "Why is this on your home page?" in page
    assert "This answer is about your home page." in page
    assert f'href="/explain?post={post.pk}#missing"' in page
    assert 'because you follow <a href="/@alice">@alice</a>' in page
    row = browser.get("/explain").content.decode()
    assert '<a href="/@alice"><b dir="auto">' in row
    second = f"{post.created_at:%Y-%m-%dT%H:%M:%S}"
    assert f'<time class="when" datetime="{second}' in row
    User.objects.filter(pk=online.pk).update(interface_language="zh-hans")
    page = browser.get("/explain").content.decode()
    assert "已放入你的首页" in page


def test_visitors_are_asked_to_log_in(alice, page_of):
    assert page_of(None).get("/explain").status_code == 302
