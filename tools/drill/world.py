"""The people of a drill: accounts with tokens and sessions, a follow graph, circles; determined by the seed."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from apps.accounts.actions import issue_token
from apps.accounts.authentication.session_store import SessionStore
from apps.accounts.management.bulk import make_accounts
from apps.accounts.models import User
from apps.graph.management.bulk import Edge, begin_import, finish_import, load_edges
from apps.graph.models import Circle, CircleMember
from apps.oauth.actions import issue_access, register_application

BACKEND = "apps.accounts.authentication.backends.HandleOrEmailBackend"
FOLLOWEES = 20  # of every person, on average
EDGES_A_BATCH = 5000
CIRCLE_MEMBERS = 8
SPARE_TOKENS = 600


@dataclass(frozen=True, slots=True)
class Person:
    id: int
    handle: str
    token: str
    session: str  # the value of the session cookie


@dataclass(frozen=True, slots=True)
class SpareToken:
    """A token to be revoked."""

    number: int
    owner: int
    token: str


@dataclass(slots=True)
class World:
    """The people. `weights` has each person's frequency of writing, with a heavy tail."""

    people: list[Person]
    weights: list[float]
    crowd: list[int]  # followers of the most active people, who never visit
    follows: set[tuple[int, int]] = field(default_factory=set)  # (follower, followee), at the start
    circles: dict[int, int] = field(default_factory=dict)  # owner -> circle
    members: dict[int, set[int]] = field(default_factory=dict)  # circle -> members
    client: dict[str, str] = field(
        default_factory=dict
    )  # the credentials of the spare tokens' application
    spare: list[SpareToken] = field(default_factory=list)
    ended: list[SpareToken] = field(default_factory=list)  # revoked, or possibly so


def world_of(made: Mapping[str, Any]) -> World:
    """A world from JSON, in which sets are lists, and the integer keys of dictionaries are strings."""
    return World(
        people=[Person(**one) for one in made["people"]],
        weights=made["weights"],
        crowd=made["crowd"],
        follows={(follower, followee) for follower, followee in made["follows"]},
        circles={int(owner): circle for owner, circle in made["circles"].items()},
        members={int(circle): set(members) for circle, members in made["members"].items()},
        client=made["client"],
        spare=[SpareToken(**one) for one in made["spare"]],
    )


def make_world(seed: int, *, people: int, crowd: int) -> World:
    chance = random.Random(f"{seed}/world")  # noqa: S311 -- a history that can be repeated
    handles = [f"p{number:04d}" for number in range(people)]
    silent = [f"c{number:05d}" for number in range(crowd)]
    weights = [1 / (rank + 3) for rank in range(people)]
    edges = [
        (follower, followee)
        for follower in handles
        for followee in _followees(chance, follower, handles, weights)
    ]
    stars = handles[: max(1, people // 50)]
    edges += [(follower, star) for follower in silent for star in stars]
    make_accounts([*handles, *silent])
    _load(seed, edges)
    ids = dict(User.objects.values_list("handle", "pk"))
    world = World(
        [_person(user) for user in User.objects.filter(handle__in=handles).order_by("handle")],
        weights,
        [ids[handle] for handle in silent],
        {(ids[follower], ids[followee]) for follower, followee in edges},
    )
    _make_circles(chance, world)
    _issue_spare_tokens(world)
    return world


def _followees(
    chance: random.Random, follower: str, handles: Sequence[str], weights: Sequence[float]
) -> set[str]:
    number = min(chance.randint(FOLLOWEES // 2, FOLLOWEES * 3 // 2), len(handles) - 1)
    found: set[str] = set()
    while len(found) < number:
        found |= set(chance.choices(handles, weights, k=number - len(found))) - {follower}
    return found


def _load(seed: int, edges: Sequence[tuple[str, str]]) -> None:
    digest = f"drill-{seed}"
    begin_import(digest)
    for start in range(0, len(edges), EDGES_A_BATCH):
        batch = edges[start : start + EDGES_A_BATCH]
        lines = [Edge(start + number, *pair) for number, pair in enumerate(batch, start=1)]
        load_edges(digest, lines, after=start, upto=start + len(batch))
    finish_import(digest)


def _person(user: User) -> Person:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = BACKEND
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return Person(user.pk, user.handle, issue_token(user, name="drill"), session.session_key or "")


def _make_circles(chance: random.Random, world: World) -> None:
    """Every fifth person has a circle of some of the other people."""
    for person in world.people[::5]:
        everybody = [one.id for one in world.people if one.id != person.id]
        chosen = chance.sample(everybody, min(CIRCLE_MEMBERS, len(everybody)))
        circle = Circle.objects.create(owner_id=person.id, name="Friends")
        CircleMember.objects.bulk_create(
            CircleMember(group=circle, member_id=member) for member in chosen
        )
        world.circles[person.id] = circle.pk
        world.members[circle.pk] = set(chosen)


def _issue_spare_tokens(world: World) -> None:
    program = register_application(name="drill", scopes="read")
    world.client = {"client_id": program.application.client_id, "client_secret": program.secret}
    for number in range(SPARE_TOKENS):
        owner = world.people[number % len(world.people)].id
        token, _issued = issue_access(User(pk=owner), program.application, scopes=["read"])
        world.spare.append(SpareToken(number, owner, token))
