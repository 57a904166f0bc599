"""Follows of some languages only: what the home page leaves out, and what it costs."""

from functools import partial

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.explain import explain
from apps.audit.oracle import Oracle
from apps.graph.actions import follow_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.pipeline import facts
from apps.timeline.pipeline.reasons import Reason
from tests.support.factories import deliver, delivered, make_user, publish, repost

pytestmark = pytest.mark.django_db


def shown(reader):
    """The home page as it is, which is also what the oracle says it should be."""
    page = [item.id for item in home_timeline(user_by_id(reader.pk), Cursor()).items]
    assert Oracle().home(reader.pk) == page == Oracle.of_viewer(reader.pk).home(reader.pk)
    return page


@pytest.fixture
def posts(alice, bob, carol):
    """Alice's in several languages and in none, and her repost of one of carol's."""
    said = {name: publish(alice, f"in {name}", language=name) for name in ("en", "fr", "pt-BR", "")}
    said["shared"] = repost(alice, publish(carol, "in German", language="de").pk)
    deliver()
    return {name: post.pk for name, post in said.items()}


def test_only_the_chosen_languages_come_with_what_has_none_and_what_is_shared(alice, bob, posts):
    everything = shown(bob)
    assert len(everything) == 5
    follow_user(bob, alice, languages=["EN", "pt"])
    assert shown(bob) == [post for post in everything if post != posts["fr"]]
    follow_user(bob, alice, languages=["pt-BR"])
    assert posts["pt-BR"] in shown(bob)
    assert posts["en"] not in shown(bob)
    follow_user(bob, alice, languages=[])
    assert shown(bob) == everything


@pytest.mark.slow
def test_nobody_elses_posts_are_touched_and_the_choice_ends_with_the_follow(
    alice, bob, carol, posts
):
    follow_user(bob, carol)
    follow_user(bob, alice, languages=["zh"])
    assert user_by_id(bob.pk).counts.choosy_follows == 1
    foreign = delivered(carol, "in French", language="fr")
    assert foreign.pk in shown(bob)
    unfollow_user(bob, alice)
    follow_user(bob, alice)
    assert user_by_id(bob.pk).counts.choosy_follows == 0
    assert posts["fr"] in shown(bob)


def test_the_reader_is_told_why(alice, bob, posts):
    follow_user(bob, alice, languages=["en"])
    explained = explain(user_by_id(bob.pk), posts["fr"])
    assert (explained.reason, explained.on_home) == (Reason.LANGUAGE, False)


def test_a_page_asks_about_its_own_authors_only(alice, bob, carol, monkeypatch):
    """Not about all that the reader follows, or has in lists: these are thousands."""
    asked = []
    for name in ("chosen_languages", "exclusive_member_ids"):
        monkeypatch.setattr(facts, name, partial(_noted, asked, name, getattr(facts, name)))
    apart = create_group(UserList, bob, name="apart", is_exclusive=True)
    others = [make_user() for _ in range(3)]
    for other in (*others, carol):
        follow_user(bob, other, languages=["en"])
    add_members(UserList, bob, apart.pk, [other.pk for other in (*others, carol)])
    shown, hidden = publish(alice, "Here."), publish(carol, "Elsewhere.")
    deliver()
    page = home_timeline(user_by_id(bob.pk), Cursor())
    assert [item.id for item in page.items] == [shown.pk]
    authors = {alice.pk, carol.pk}
    assert asked == [
        ("exclusive_member_ids", authors, {carol.pk}),
        ("chosen_languages", authors, {carol.pk}),
    ]
    assert hidden.author_id == carol.pk


def _noted(asked, name, query, viewer, *, among):
    found = query(viewer, among=among)
    asked.append((name, set(among), set(found)))
    return found
