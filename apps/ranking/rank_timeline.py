"""The rank timeline: a reader's newest candidates with the scores of a prepared algorithm, in Redis (source 003).

It has two keys: the ZSET `rt:{reader}` contains the posts by position; a hash contains the values that explain each
position, and a version. Both expire `RANK_TIMELINE_SECONDS` after they were built, so no score is older. Until then, a
task scores each delivered post, and every read scores posts that the task missed. The keys contain only ids and
figures. Visibility is checked whenever a page of an order is read.
"""

import json
import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import isclose
from typing import Any

from django.conf import settings

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.events.actions import enqueue
from apps.ranking.algorithms import (
    Algorithm,
    Part,
    Scored,
    available,
    items_of,
    score,
    select,
    weights_of,
    without_read,
)
from apps.ranking.models import RankingChoice
from apps.timeline.fanout import dispatch
from apps.timeline.models import FanoutChunk
from feedcache.connections import RedisError, timelines
from feedcache.redis_clients import Command, execute, is_cluster

logger = logging.getLogger(__name__)

VERSION = "version"  # a field of the hash
SCORED = "scored:1"  # exists while there may be a rank timeline that deliveries must update

Weights = Mapping[str, float]


def order(algorithm: Algorithm, viewer: User, weights: Weights) -> list[Scored]:
    """The unread posts of the rank timeline in order. Scores missing candidates, and removes former candidates.

    If the rank timeline cannot be read, all candidates are scored.
    """
    raw = algorithm.source(viewer, settings.RANK_CANDIDATES)
    try:
        cached = _read(algorithm, viewer.pk, weights)
    except (RedisError, ValueError, TypeError) as error:
        logger.warning("rank timeline of %s not read: %s", viewer.pk, error)
        cached = None
    known = cached or {}
    missing = [post_id for post_id in raw if post_id not in known]
    added = score(algorithm, viewer, items_of(algorithm, viewer, missing), weights)
    removed = known.keys() - set(raw)
    try:
        _write(algorithm, viewer.pk, weights, added, removed=removed, replaces=cached is None)
    except RedisError as error:
        logger.warning("rank timeline of %s not written: %s", viewer.pk, error)
    remaining = [scored for post_id, scored in known.items() if post_id not in removed]
    visible = _without_hidden_copies(algorithm, viewer, remaining + added)
    return select(algorithm, without_read(viewer, visible))


def _without_hidden_copies(
    algorithm: Algorithm, viewer: User, scores: Sequence[Scored]
) -> list[Scored]:
    """Of posts that are here more than once (with their reposts), drop what the viewer may no longer see.

    `select` would otherwise prefer a repost that the page then drops.
    """
    copies = Counter(scored.shown_id for scored in scores)
    several = [scored.post_id for scored in scores if copies[scored.shown_id] > 1]
    visible = {item.id for item in items_of(algorithm, viewer, several)} if several else ()
    return [one for one in scores if copies[one.shown_id] == 1 or one.post_id in visible]


def add_newest(algorithm: Algorithm, viewer: User, weights: Weights) -> None:
    """Score the newest `RANK_ITEMS_PER_RUN` candidates, except those already in the rank timeline; idempotent.

    A rank timeline made with another algorithm or other weights is left unchanged; the next read replaces it. Raises
    RedisError if Redis does not respond.
    """
    raw = algorithm.source(viewer, settings.RANK_ITEMS_PER_RUN)
    by_position, reasons = keys_of(viewer.pk)
    pipeline = _pipeline()
    pipeline.hget(reasons, VERSION)
    pipeline.zmscore(by_position, raw or [0])
    version, positions = pipeline.execute()
    if version != _version(algorithm, weights).encode():
        return
    missing = [
        post_id
        for post_id, position in zip(raw, positions[: len(raw)], strict=True)
        if position is None
    ]
    added = score(algorithm, viewer, items_of(algorithm, viewer, missing), weights)
    _write(algorithm, viewer.pk, weights, added, removed=(), replaces=False)


def follow_delivery(chunk_id: int) -> None:
    """Enqueue the scoring of a delivered post for the readers in a chunk, if anybody may have a rank timeline."""
    if timelines().exists(SCORED):
        enqueue("apps.ranking.tasks.score_delivered", chunk_id)


def score_delivered(chunk_id: int, *, after: int = 0) -> int:
    """Score the newest candidates of the readers in a chunk who have a rank timeline; returns their number.

    Takes at most `RANK_READERS_PER_TASK` readers who have chosen a prepared algorithm, with ids above `after`, and
    enqueues a task for the others.
    """
    algorithms = {name: found for name, found in available().items() if found.prepared}
    choices = RankingChoice.objects.filter(algorithm__in=algorithms, user_id__gt=after)
    if not choices.exists():
        return 0
    chunk = FanoutChunk.objects.select_related("job").filter(pk=chunk_id).first()
    if chunk is None:
        return 0
    readers: Sequence[Any] = dispatch.readers_of(chunk.job.post, chunk)
    choices = choices.filter(user__in=readers).order_by("user_id")
    chosen = dict(choices.values_list("user_id", "algorithm")[: settings.RANK_READERS_PER_TASK])
    viewers = users_by_id(online(list(chosen)))
    weights = {name: weights_of(algorithm) for name, algorithm in algorithms.items()}
    for viewer in viewers.values():
        name = chosen[viewer.pk]
        add_newest(algorithms[name], viewer, weights[name])
    if len(chosen) == settings.RANK_READERS_PER_TASK:
        enqueue("apps.ranking.tasks.score_delivered", chunk_id, max(chosen))
    return len(viewers)


def drop(reader_id: int) -> None:
    """Delete a rank timeline. Raises RedisError if Redis does not respond; the keys then expire later."""
    timelines().unlink(*keys_of(reader_id))


def online(reader_ids: Sequence[int]) -> list[int]:
    """The readers in `reader_ids` who have a rank timeline."""
    commands: list[Command] = [("EXISTS", keys_of(reader_id)[1]) for reader_id in reader_ids]
    exists = execute(timelines(), commands) if commands else []
    return [reader_id for reader_id, found in zip(reader_ids, exists, strict=True) if found]


def is_consistent(reader_id: int) -> bool | None:
    """Whether every stored position agrees with its values; None if the rank timeline or its algorithm is missing."""
    by_position, reasons = keys_of(reader_id)
    pipeline = _pipeline()
    pipeline.zrange(by_position, 0, -1, withscores=True)
    pipeline.hgetall(reasons)
    positions, values = pipeline.execute()
    try:
        name, weights = json.loads(values.pop(VERSION.encode()))
        algorithm = available()[name]
    except KeyError:  # no rank timeline, or the site no longer has its algorithm
        return None
    try:
        return all(
            isclose(
                position,
                algorithm.position(_decode(algorithm, weights, int(member), values[member])),
            )
            for member, position in positions
            if member in values
        )
    except (KeyError, ValueError, TypeError):  # KeyError: the algorithm has other factors now
        return False


def _read(algorithm: Algorithm, reader_id: int, weights: Weights) -> dict[int, Scored] | None:
    """The scores by post id, best first; None unless there is a rank timeline for this algorithm and these weights.

    Raises ValueError or TypeError for malformed values.
    """
    by_position, reasons = keys_of(reader_id)
    pipeline = _pipeline()
    pipeline.zrevrange(by_position, 0, -1)
    pipeline.hgetall(reasons)
    members, values = pipeline.execute()
    if values.get(VERSION.encode()) != _version(algorithm, weights).encode():
        return None
    trimmed = values.keys() - {VERSION.encode(), *members}
    if trimmed:
        timelines().hdel(reasons, *trimmed)
    return {
        int(member): _decode(algorithm, weights, int(member), values[member])
        for member in members
        if member in values
    }


def _write(
    algorithm: Algorithm,
    reader_id: int,
    weights: Weights,
    added: Sequence[Scored],
    *,
    removed: Collection[int],
    replaces: bool,
) -> None:
    if not (replaces or added or removed):
        return
    by_position, reasons = keys_of(reader_id)
    pipeline = _pipeline()
    if replaces:
        pipeline.delete(by_position, reasons)
        pipeline.hset(reasons, VERSION, _version(algorithm, weights))
        # the same lifetime as these keys
        pipeline.set(SCORED, 1, ex=settings.RANK_TIMELINE_SECONDS)
    if removed:
        pipeline.zrem(by_position, *removed)
        pipeline.hdel(reasons, *removed)
    if added:
        # best first, so that each insertion is at the head of the listpack
        best = sorted(added, key=algorithm.position, reverse=True)
        pipeline.zadd(by_position, {scored.post_id: algorithm.position(scored) for scored in best})
        pipeline.hset(reasons, mapping={scored.post_id: _encode(scored) for scored in added})
        pipeline.zremrangebyrank(by_position, 0, -settings.RANK_CANDIDATES - 1)
    for key in (by_position, reasons):
        pipeline.expire(key, settings.RANK_TIMELINE_SECONDS, nx=True)
    pipeline.execute()


def _pipeline() -> Any:
    """A pipeline. It is a transaction, except in a cluster, where a transaction would fail while the keys' slot moves.

    So code that reads the two keys must expect one of them to be older than the other.
    """
    return timelines().pipeline(transaction=not is_cluster(timelines()))


def _encode(scored: Scored) -> str:
    return json.dumps([scored.shown_id, *(part.value for part in scored.parts)])


def _decode(algorithm: Algorithm, weights: Weights, post_id: int, text: bytes) -> Scored:
    shown_id, *values = json.loads(text)
    parts = (
        Part(factor, value, weights[factor.name])
        for factor, value in zip(algorithm.factors, values, strict=True)
    )
    return Scored(post_id, shown_id, tuple(parts))


def _version(algorithm: Algorithm, weights: Weights) -> str:
    return json.dumps([algorithm.name, weights])


def keys_of(reader_id: int) -> tuple[str, str]:
    """The keys of the ZSET and the hash. They share a hash tag, so a cluster keeps them in the same slot."""
    return f"rt:{{{reader_id}}}", f"rt:{{{reader_id}}}:why"
