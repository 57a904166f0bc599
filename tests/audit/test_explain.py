"""Why a post is there or not; and that nobody learns of what is hidden."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.explain import Source, explain, explain_home
from apps.errors import NotFound
from apps.events.leases import State
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.circle_actions import add_to_circle, create_circle
from apps.paging import Cursor
from apps.posts.actions import delete_post, repost
from apps.timeline.cache import HOME
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk
from tests.api.test_endpoints import bare
from tests.support.factories import deliver, make_user, publish
from tests.support.faults import dead_redis

pytestmark = pytest.mark.django_db
ABSENT = 1234567890123456789


def way(viewer, post):
    found = explain(viewer, post.pk)
    shown = {item.id for item in home_timeline(viewer, Cursor(limit=40)).items}
    assert found.on_home == (post.pk in shown)  # whatever the reason: it is what the page does
    assert "%" not in found.text
    return found.way


@pytest.fixture
def online(bob):
    home_timeline(bob, Cursor())
    return bob


def test_pushed(alice, online):
    post = publish(alice)
    deliver()
    assert way(online, post) == Source.PUSH
    found = explain(online, post.pk)
    assert found.when == FanoutChunk.objects.get(job=post.pk).finished_at
    assert (found.policy, found.attempts, found.who) == ("online", 1, "alice")


def test_put_together_anew(alice, bob):
    post = publish(alice)
    deliver()
    assert way(bob, post) == Source.REBUILT


def test_brought_by_a_follow(alice, carol):
    post = publish(alice)
    deliver()
    home_timeline(carol, Cursor())
    follow_user(carol, alice)
    deliver()
    assert way(carol, post) == Source.BACKFILL


def test_without_windows_it_came_from_storage(alice, online):
    post = publish(alice)
    deliver()
    with dead_redis():
        assert way(online, post) == Source.STORAGE


def test_own_and_circle(alice, online):
    assert way(alice, publish(alice)) == Source.OWN
    circle = create_circle(alice, name="Ours", is_shared=False)
    add_to_circle(alice, circle.pk, [online])
    post = publish(alice, "for some", visibility="circle", circle_id=circle.pk)
    deliver()
    assert way(online, post) == Source.CIRCLE


def test_by_the_inbox(alice, online):
    post = publish(alice, "for followers", visibility="followers")
    deliver()
    assert way(online, post) == Source.PUSH


def test_not_followed_and_muted(alice, bob, carol):
    post = publish(alice)
    deliver()
    assert way(carol, post) == Source.NOT_FOLLOWED
    mute_user(bob, alice)
    assert way(bob, post) == Source.MUTED


def test_a_repost_of_somebody_muted_names_whom(alice, online, carol):
    shared = repost(alice, publish(carol).pk)
    mute_user(online, carol)
    deliver()
    assert way(online, shared) == Source.MUTED
    assert explain(online, shared.pk).who == "carol"


def test_on_its_way_failed_and_lost(alice, online):
    post = publish(alice)
    assert way(online, post) == Source.WAITING
    deliver()
    HOME.remove(online.pk, [post.pk])
    assert way(online, post) == Source.LOST
    due = timezone.now() + timedelta(seconds=30)
    chunk = FanoutChunk.objects.filter(job=post.pk)
    chunk.update(state=State.PENDING, due_at=due)
    assert way(online, post) == Source.WAITING
    assert explain(online, post.pk).when == due
    chunk.update(state=State.DEAD)
    assert way(online, post) == Source.FAILED


def test_a_page_is_explained_in_a_fixed_number_of_queries(
    alice, online, django_assert_max_num_queries
):
    for _ in range(15):
        publish(alice)
    deliver()
    home_timeline(online, Cursor())
    with django_assert_max_num_queries(8):
        found = explain_home(online, Cursor())
    assert {one.way for one in found.items} == {Source.PUSH}
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
        "blocks me": publish(enemy).pk,
        "blocked by me": publish(foe).pk,
        "suspended": publish(gone).pk,
        "repost of what is hidden": repost(alice, shared.pk).pk,
    }
    delete_post(deleted.pk, by=alice)
    block_user(enemy, carol)
    block_user(carol, foe)
    User.objects.filter(pk=gone.pk).update(suspended_at=timezone.now())
    deliver()
    return posts


REASONS = ["deleted", "restricted", "for followers", "blocks me", "blocked by me", "suspended",
           "repost of what is hidden"]  # fmt: skip


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


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("deleted", "it was deleted"),
        ("restricted", "it is for others only (mentioned)"),
        ("blocks me", "its author blocks them"),
        ("blocked by me", "they block its author"),
        ("suspended", "its author is suspended"),
        ("repost of what is hidden", "what it reposts is hidden (its author blocks them)"),
    ],
)
def test_staff_learn_the_rule(carol, hidden, capsys, reason, words):
    call_command("explain", "carol", str(hidden[reason]))
    assert capsys.readouterr().out == f"@carol may not see it: {words}.\n"


def test_the_command_explains_a_page(alice, online, capsys):
    post = publish(alice)
    deliver()
    call_command("explain", "bob", "--home")
    assert capsys.readouterr().out.startswith(f"{post.pk}  @alice  You follow @alice. It was")
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
    post = publish(alice, "A post to explain.")
    deliver()
    browser = page_of(online)
    assert f'href="/explain/{post.pk}"' in browser.get("/home").content.decode()
    page = browser.get(f"/explain/{post.pk}").content.decode()
    assert "It is on your home page." in page
    assert "A post to explain." in page
    User.objects.filter(pk=online.pk).update(interface_language="zh-hans")
    page = browser.get("/explain").content.decode()
    assert "你关注了 @alice" in page


def test_visitors_are_asked_to_log_in(alice, page_of):
    assert page_of(None).get("/explain").status_code == 302
