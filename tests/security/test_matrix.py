"""The authorization matrix: every viewer, every kind of post, every surface, before and after every change of right."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import pytest
from django.urls import Resolver404, resolve

from apps.accounts.queries import user_by_id
from apps.engagement.marks import ROW_MARKS
from apps.engagement.models import Vote
from apps.graph.actions import (
    approve_request,
    block_user,
    follow_user,
    remove_follower,
    unblock_user,
    unfollow_user,
)
from apps.graph.groups.actions import delete_group, leave_circle, remove_members
from apps.graph.models import Circle, FollowRequest
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post, ThreadMute
from feedcache.ids import SEQUENCE_BITS, to_base36
from tests.security import surfaces
from tests.security.matrix import Matrix, filled
from tests.security.surfaces import LISTS, OF_POSTS, OF_WORDS, WRITES
from tests.security.world import STATES, VIEWERS, World, make_world, settle
from tests.support.factories import suspend

pytestmark = pytest.mark.django_db

# --- changes of right ---------------------------------------------------------------------------------


def _block(world: World) -> None:
    for name in ("follower", "member", "mentioned"):
        block_user(world.user("author"), world.user(name))


def _block_author(world: World) -> None:
    for name in ("mutual", "member", "mentioned"):
        block_user(world.user(name), world.user("author"))


def _unblock(world: World) -> None:
    unblock_user(world.user("author"), world.user("blocked"))
    unblock_user(world.user("blocker"), world.user("author"))


def _unfollow(world: World) -> None:
    for name in ("follower", "mutual", "member"):
        unfollow_user(world.user(name), world.user("author"))


def _unfriend(world: World) -> None:
    unfollow_user(world.user("author"), world.user("mutual"))


def _befriend(world: World) -> None:
    follow_user(world.user("author"), world.user("follower"))


def _remove(world: World) -> None:
    for name in ("follower", "mutual", "member"):
        remove_follower(world.user("author"), world.user(name))


def _approve(world: World) -> None:
    if world.state == "locked":
        approve_request(world.user("author"), world.user("requester"))
    else:
        FollowRequest.objects.all().delete()
        follow_user(world.user("requester"), world.user("author"))


def _out_of_circle(world: World) -> None:
    remove_members(Circle, world.user("author"), world.circle.pk, [world.people["member"].pk])


def _leave_circle(world: World) -> None:
    leave_circle(world.user("member"), world.circle.pk)


def _delete_circle(world: World) -> None:
    delete_group(Circle, world.user("author"), world.circle.pk)


def _edit(world: World) -> None:
    """Nobody is named any more, and the tags are gone."""
    for one in world.made_by("author"):
        if not one.is_repost and not one.name.startswith("deleted"):
            edit_post(world.user("author"), one.id, body=f"{one.mark} was said otherwise")


def _delete(world: World) -> None:
    for one in world.made_by("author"):
        if not one.name.startswith("deleted") and Post.objects.filter(pk=one.id, deleted_at=None):
            delete_post(one.id, by=world.user("author"), keep_pictures=one.name.endswith("public"))


def _suspend(world: World) -> None:
    suspend(user_by_id(world.people["author"].pk))


def _suspend_viewers(world: World) -> None:
    for name in ("mutual", "member"):
        suspend(user_by_id(world.people[name].pk))


Change = tuple[Callable[[World], None], tuple[str, ...]]
CHANGES: dict[str, Change] = {  # what is done, and to whom it makes a difference
    "block": (_block, ("follower", "member", "mentioned")),
    "block the author": (_block_author, ("mutual", "member", "mentioned")),
    "unblock": (_unblock, ("blocked", "blocker")),
    "unfollow": (_unfollow, ("follower", "mutual", "member")),
    "follow no more in return": (_unfriend, ("mutual",)),
    "follow in return": (_befriend, ("follower",)),
    "remove from followers": (_remove, ("follower", "mutual", "member")),
    "follow": (_approve, ("requester",)),
    "remove from circle": (_out_of_circle, ("member",)),
    "leave circle": (_leave_circle, ("member",)),
    "delete circle": (_delete_circle, ("member", "author")),
    "edit": (_edit, ("mentioned", "follower", "blocked", "anonymous", "author")),
    "delete": (_delete, VIEWERS),
    "suspend": (_suspend, VIEWERS),
    "suspend the viewer": (_suspend_viewers, ("mutual", "member")),
}
WATCHING = ("stranger", "author")  # besides, at every change
WHOLE = [(state, ("nothing",)) for state in STATES] + [("open", (change,)) for change in CHANGES]
WHOLE += [
    ("locked", (change,))
    for change in ("block", "unfollow", "remove from followers", "follow", "delete")
]
# to make a world takes longer than to ask for so little of it
SHORT = [("open", ("nothing", "delete")), ("locked", ("block",))]


@dataclass(frozen=True)
class Shares:
    """One of so many addresses is asked, each in its turn: of those with many posts, and of those of one post."""

    lists: int
    lists_again: int  # with cold caches, before a change, and when the workers have run
    singles: int


WHOLE_SHARES, WHOLE_CHANGE_SHARES = Shares(1, 3, 6), Shares(2, 6, 12)
SHORT_SHARES = Shares(13, 37, 260)  # `./run test --matrix` asks for all of it


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "changes" in metafunc.fixturenames:
        rows = WHOLE if metafunc.config.getoption("--matrix") else SHORT
        ids = [f"{state}-{' and '.join(changes)}" for state, changes in rows]
        metafunc.parametrize(("state", "changes"), rows, ids=ids)


@pytest.fixture
def shares(request, settings, changes):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    logging.disable(logging.WARNING)  # one line for each 404
    whole = WHOLE_SHARES if changes == ("nothing",) else WHOLE_CHANGE_SHARES
    yield whole if request.config.getoption("--matrix") else SHORT_SHARES
    logging.disable(logging.NOTSET)


@pytest.mark.long
def test_what_may_not_be_seen_is_as_if_it_had_never_been(state, changes, shares, record_property):
    begin = monotonic()
    matrix = Matrix(make_world(state), share=shares.singles)
    for change in changes:
        if change == "nothing":
            _as_made(matrix, shares)
        else:
            _changed(matrix, shares, *CHANGES[change])
    tally = matrix.tally
    record_property("matrix", {
        "state": state, "change": " and ".join(changes), "cells": dict(tally.cells), "requests": tally.requests,
        "leaks": len(tally.leaks), "seconds": monotonic() - begin,
    })  # fmt: skip
    assert tally.failures == []
    assert tally.leaks == [], "\n".join([f"{len(tally.leaks)} leaks:", *tally.leaks])


def _as_made(matrix: Matrix, shares: Shares) -> None:
    """Everything as everybody: some with cold caches, all with warm ones."""
    for viewer in VIEWERS:
        matrix.lists(viewer, "cold", share=shares.lists_again)
    for viewer in VIEWERS:
        matrix.lists(viewer, "warm", share=shares.lists)
    for viewer in VIEWERS:
        matrix.singles(viewer, "warm")
        matrix.words(viewer, "warm")
    matrix.files("warm")
    matrix.streams("warm")
    matrix.archives("warm")
    before, marks = _rows(), _marks()
    for viewer in VIEWERS:
        matrix.writes(viewer, "write")
    # what people liked or bookmarked while they saw it they may take back
    assert _marks() <= marks, "a post was marked by somebody who may not see it"
    assert _rows() == before, "something was written about a post that the writer may not see"
    if matrix.world.state != "suspended" and shares == WHOLE_SHARES:
        _assert_nothing_is_vacuous(matrix)


def _changed(
    matrix: Matrix, shares: Shares, change: Callable[[World], None], concerned: tuple[str, ...]
) -> None:
    """Before the change, right after it while the workers have not run, and when they have."""
    viewers = tuple(dict.fromkeys((*concerned, *WATCHING)))
    for viewer in viewers:
        matrix.lists(viewer, "before", share=shares.lists_again)
        matrix.singles(viewer, "before", surfaces=OF_POSTS[:2])
    change(matrix.world)
    matrix.rights_changed()
    for viewer in viewers:
        matrix.lists(viewer, "at once", share=shares.lists)
        matrix.singles(viewer, "at once")
    matrix.files("at once")
    settle()
    for viewer in viewers:
        matrix.lists(viewer, "settled", share=shares.lists_again)
        matrix.words(viewer, "settled")
        matrix.writes(viewer, "settled")
    matrix.files("settled")
    matrix.streams("settled")


def _rows() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Vote, Post, ThreadMute))


def _marks() -> set[tuple[str, int, int]]:
    return {
        (mark.kind, user_id, post_id)
        for mark in ROW_MARKS
        for user_id, post_id in mark.model._default_manager.values_list("user_id", "post_id")
    }


def _assert_nothing_is_vacuous(matrix: Matrix) -> None:
    """What may be seen is shown: the lists of a walk that finds nothing anywhere would hold no leak either."""
    shown = {surface for surface, _post in matrix.tally.shown}
    for path in (
        "timelines/home",
        "timelines/public",
        "bookmarks?limit=40",
        "notifications?limit=80",
        "statuses?{many}",
    ):
        assert f"GET /api/v1/{path}" in shown
    for path in (
        "/home",
        "/@vauthor",
        "/bookmarks",
        "/search?q=said",
        "/@vauthor.rss",
        "/notifications",
    ):
        assert f"GET {path}" in shown


# --- the list of surfaces is complete -------------------------------------------------------------------

_EXAMPLES = {
    "id": 1 << 60, "handle": "alice", "mark": "q100z", "root": 1 << 60, "list": 1, "filter": 1, "circle": 1,
    "author_id": 1, "feed": 1, "own_feed": "@vauthor/feeds/mine",
    "friend_id": 2, "short": to_base36(1 << 60 | 1 << SEQUENCE_BITS), "today": "2026-01-01",
    "now": "2026-01-01T00:00:00Z",
    "many": "id[]=1", "more": "id[]=1",
}  # fmt: skip


def test_every_route_is_a_surface_or_says_why_not():
    asked = set(surfaces.FOLLOWED) | {surfaces.FILES, surfaces.EXPORT, surfaces.PAGE}
    for surface in (*LISTS, *OF_POSTS, *OF_WORDS, *WRITES):
        path = filled(surface.path, _EXAMPLES).partition("?")[0]
        asked.add(resolve(path).route)
    there = surfaces.routes()
    assert there - asked - set(surfaces.ELSEWHERE) == set(), "routes that nothing is said about"
    assert set(surfaces.ELSEWHERE) - there == set(), "routes that are not there any more"
    assert asked - there == set()


@pytest.mark.parametrize("path", ["/nothing", "/api/v1/nothing"])
def test_resolving_tells_what_is_not_there(path):
    with pytest.raises(Resolver404):
        resolve(path)
