"""Makes the follows: popular accounts attract more followers, mostly in their own language."""

from collections.abc import Iterator
from math import log
from random import Random

from apps.demo.seeding.world import Member, World, batches, moment_of
from apps.graph.models import Followee, Follower
from apps.notifications.kinds import NotificationKind

MIN_FOLLOWS, MAX_FOLLOWS = 4, 600
OWN_LANGUAGE_SHARE, FAVOURITE_SHARE = 0.78, 0.8
Edge = tuple[float, Member, Member]  # Unix time, follower, followee


def make_follows(world: World) -> None:
    """Insert both rows of every follow, oldest first, and count them for both accounts."""
    edges = sorted(_edges(world), key=lambda edge: (edge[0], edge[1].pk, edge[2].pk))
    for batch in batches(edges):
        Followee.objects.bulk_create(
            Followee(owner_id=follower.pk, followee_id=followee.pk, created_at=moment_of(second))
            for second, follower, followee in batch
        )
        Follower.objects.bulk_create(
            Follower(owner_id=followee.pk, follower_id=follower.pk, created_at=moment_of(second))
            for second, follower, followee in batch
        )
        for second, follower, followee in batch:
            follower.following += 1
            followee.followers += 1
            world.notify(second, followee, NotificationKind.FOLLOW, follower, None)
        world.advance("follows", len(batch))
    world.follows = len(edges)


def _edges(world: World) -> Iterator[Edge]:
    rng = world.rng("follows")
    urns = _WeightedDraw(rng)
    for member in world.cast.values():
        urns.add(member, round(member.weight))
    if world.makes_cast:
        for member in world.cast.values():
            yield from _edges_of(rng, world, member, _cast_choice(rng, world, urns, member))
    for member in world.crowd:
        urns.add(member, 1 + round(member.weight))
    for member in world.crowd:
        yield from _edges_of(rng, world, member, _crowd_choice(rng, world, urns, member))
    if world.makes_cast and world.crowd:
        yield from _back_to_the_crowd(rng, world)


def _edges_of(rng: Random, world: World, member: Member, chosen: list[Member]) -> Iterator[Edge]:
    for other in chosen:
        since = max(member.joined, other.joined)
        yield since + (world.now - 3600 - since) * rng.random() ** 0.7, member, other


def _cast_choice(rng: Random, world: World, urns: "_WeightedDraw", member: Member) -> list[Member]:
    person = member.person
    if person is None or person.follows:
        return [world.cast[handle] for handle in person.follows] if person else []
    return urns.draw(member, rng.randint(12, 26), favourite=_favourite(world))


def _crowd_choice(rng: Random, world: World, urns: "_WeightedDraw", member: Member) -> list[Member]:
    count = round(rng.lognormvariate(log(world.size.follows_each) - 0.32, 0.8))
    maximum = min(MAX_FOLLOWS, len(world.members) // 2)
    return urns.draw(member, max(MIN_FOLLOWS, min(maximum, count)), favourite=_favourite(world))


def _back_to_the_crowd(rng: Random, world: World) -> Iterator[Edge]:
    for member in world.cast.values():
        if member.person and not member.person.follows:
            chosen = rng.sample(world.crowd, min(len(world.crowd), rng.randint(3, 9)))
            yield from _edges_of(rng, world, member, chosen)


def _favourite(world: World) -> Member:
    return max(world.cast.values(), key=lambda member: member.weight)


class _WeightedDraw:
    """Draws followees at random; among accounts with the same language, `weight` and followers raise the chance."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._urns: dict[str, list[Member]] = {"en": [], "zh": []}

    def add(self, member: Member, times: int) -> None:
        self._urns[member.language] += [member] * times

    def draw(self, member: Member, count: int, *, favourite: Member) -> list[Member]:
        """Draw up to `count` different accounts other than the member; the favourite is likely among them."""
        chosen: dict[int, Member] = {}
        if favourite is not member and self._rng.random() < FAVOURITE_SHARE:
            chosen[favourite.pk] = favourite
        for _ in range(count * 8):
            if len(chosen) >= count:
                break
            other = self._draw_one(member.language)
            if other is not member and other.pk not in chosen:
                chosen[other.pk] = other
                self._urns[other.language].append(other)
        return list(chosen.values())

    def _draw_one(self, language: str) -> Member:
        is_own = self._rng.random() < OWN_LANGUAGE_SHARE
        urn = self._urns[language if is_own else "en" if language == "zh" else "zh"]
        return urn[int(self._rng.random() * len(urn))]
