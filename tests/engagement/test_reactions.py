"""Reactions: one emoji of each reader, beside likes; in the table, on pages, in the API, in notifications."""

from html import unescape

import pytest

from apps.engagement.actions import MARK_VERBS, add_mark, like_post, remove_mark
from apps.engagement.marks import REACTION
from apps.engagement.models import Reaction
from apps.errors import Invalid, NotFound
from apps.notifications.models import Notification
from apps.posts.models import Counts, PostCounts
from apps.posts.queries import post_counts
from apps.timeline.pipeline.hydrate import hydrate
from tests.support.factories import deliver, make_user, publish
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def react(user, post, name):
    add_mark(REACTION, user, post.pk, name)


def counts_of(post):
    """Those that are not 0, as pages get them, without reads; the table has the same."""
    row = PostCounts.objects.get(post=post)
    found = post_counts([post.pk])[post.pk]._replace(reads=0)
    assert found == Counts(*(getattr(row, name) for name in Counts._fields))
    return {name: number for name, number in found._asdict().items() if number}


def reaction_of(user, post):
    [item] = hydrate(user and user.pk, [post.pk]).items
    return item.flags.reaction


def test_a_reader_has_one_and_may_choose_again(alice, bob, carol):
    post = publish(alice)
    react(bob, post, "hearts")
    react(bob, post, "hearts")
    react(carol, post, "laughs")
    like_post(bob, post.pk)
    assert counts_of(post) == {"hearts": 1, "laughs": 1, "likes": 1}
    assert [reaction_of(who, post) for who in (bob, carol, alice, None)] == [
        "hearts",
        "laughs",
        "",
        "",
    ]
    react(bob, post, "laughs")
    assert counts_of(post) == {"laughs": 2, "likes": 1}
    assert Reaction.objects.filter(user=bob).count() == 1
    for _again in range(2):
        remove_mark(REACTION, bob, post.pk)
    assert counts_of(post) == {"laughs": 1, "likes": 1}
    assert reaction_of(bob, post) == ""


def test_only_the_six_and_only_on_what_one_may_see(alice, bob, carol):
    with pytest.raises(Invalid):
        react(bob, publish(alice), "likes")
    hidden = publish(alice, visibility="followers")
    with pytest.raises(NotFound):
        react(carol, hidden, "hearts")
    assert not Reaction.objects.exists()


def test_several_at_once_leave_one(transactional_db):
    post, reader = publish(make_user()), make_user()
    together(4, lambda index: react(reader, post, ["hearts", "laughs"][index % 2]))
    assert sum(counts_of(post).values()) == Reaction.objects.count() == 1


def test_the_author_is_told_once_and_no_more_when_it_is_taken_back(alice, bob, carol):
    post = publish(alice)
    react(bob, post, "hearts")
    react(bob, post, "laughs")
    react(carol, post, "wows")
    deliver()
    told = Notification.objects.filter(user=alice, post=post)
    assert sorted(told.values_list("kind", "actor__handle")) == [
        ("react", "bob"),
        ("react", "carol"),
    ]
    remove_mark(REACTION, bob, post.pk)
    deliver()
    assert list(told.values_list("actor__handle", flat=True)) == ["carol"]


def test_several_are_one_line_and_one_group(alice, bob, carol, page_of, api_of):
    post = publish(alice)
    for who in (bob, carol):
        react(who, post, "cheers")
    deliver()
    assert page_of(alice).get("/notifications").text.count('class="sign react"') == 1
    [group] = (
        api_of(alice).get("/api/v2/notifications?types[]=reaction").json()["notification_groups"]
    )
    assert (group["type"], group["notifications_count"]) == ("reaction", 2)
    assert group["group_key"].startswith(f"reaction-{post.pk}-")
    assert api_of(alice).get(f"/api/v2/notifications/{group['group_key']}").status_code == 200


def test_programs_react_and_are_told(alice, bob, api_of):
    post = publish(alice)
    address = f"/api/x/statuses/{post.pk}"
    answer = api_of(bob).post(f"{address}/react/❤️")
    assert answer.json()["feedsite"]["reactions"] == [{"name": "❤️", "count": 1, "me": True}]
    assert answer.json()["favourites_count"] == 0
    for_alice = api_of(alice).get(f"/api/v1/statuses/{post.pk}").json()
    assert for_alice["feedsite"]["reactions"] == [{"name": "❤️", "count": 1, "me": False}]
    assert api_of(bob).post(f"{address}/react/🦆").status_code == 422
    assert api_of(bob).post(f"{address}/unreact").json()["feedsite"]["reactions"] == []
    assert api_of(None).post(f"{address}/react/❤️").status_code == 401


def test_pages_react_without_a_script(alice, bob, page_of):
    post = publish(alice)
    browser, address = page_of(bob), f"/@alice/{post.pk}"
    page = browser.get(address).text
    offered = [verb for verb in MARK_VERBS if f'formaction="/posts/{post.pk}/{verb}"' in page]
    assert set(REACTION.verbs) <= set(offered)
    assert "unreact" not in offered
    assert browser.post(f"/posts/{post.pk}/react_hearts").status_code == 303
    page = browser.get(address).text
    assert f'formaction="/posts/{post.pk}/unreact" aria-pressed="true"' in page
    row = browser.post(f"/posts/{post.pk}/unreact", headers={"hx-request": "true"}).text
    assert "hearts" not in row
    assert counts_of(post) == {}


def test_visitors_see_them(alice, bob, page_of):
    post = publish(alice)
    react(bob, post, "tears")
    page = unescape(page_of(None).get(f"/@alice/{post.pk}").text)
    assert "😢" in page
    assert f"/posts/{post.pk}/" not in page
