"""Puts the written lines of the cast at moments: what answers or shares comes after what it is about."""

from random import Random

from apps.demo.parts import Conversation, Line
from apps.demo.seeding.clock import HOUR, later, moment
from apps.demo.seeding.world import Entry, World

APPEAL = 9.0  # a written line is liked as readily as nine generated ones
ROOT_AGE_SECONDS = 14 * HOUR  # time for a conversation to happen
YOUNGEST_SECONDS = 70 * 60  # what is newer has its `ago` written down


def written_entries(world: World) -> list[Entry]:
    """All posts, reposts and replies of the cast."""
    rng, by_key = world.rng("written"), dict[str, Entry]()
    roots = {line.source for line in world.library.lines if line.source}
    roots |= {conversation.under for conversation in world.library.conversations}
    entries, waiting = list[Entry](), list(world.library.lines)
    while waiting:
        ready = [line for line in waiting if not line.source or line.source in by_key]
        waiting = [line for line in waiting if line.source and line.source not in by_key]
        for line in ready:
            entry = _entry(world, rng, line, by_key, is_root=line.key in roots)
            entries.append(entry)
            if line.key:
                by_key[line.key] = entry
    for conversation in world.library.conversations:
        entries += _replies(world, rng, conversation, by_key[conversation.under])
    return entries


def _entry(
    world: World, rng: Random, line: Line, by_key: dict[str, Entry], *, is_root: bool
) -> Entry:
    source = by_key[line.source] if line.source else None
    if line.ago is not None:
        second = world.now - line.ago * 60
    elif source:
        second = later(rng, source.second, world.now, least=40 * 60, most=60 * HOUR)
    else:
        youngest = ROOT_AGE_SECONDS if is_root else YOUNGEST_SECONDS
        second = moment(rng, line.language, world.now, hour=line.hour, youngest=youngest)
    return _made(world, rng, line, second, source=source)


def _replies(world: World, rng: Random, conversation: Conversation, root: Entry) -> list[Entry]:
    chain = [root]
    for reply in conversation.replies:
        parent = chain[reply.to]
        if reply.line.ago is not None:
            second = world.now - reply.line.ago * 60
        else:  # nobody answers before the answer above is there
            second = later(rng, chain[-1].second, world.now, least=70, most=90 * 60)
        chain.append(_made(world, rng, reply.line, second, reply_to=parent))
    return chain[1:]


def _made(
    world: World,
    rng: Random,
    line: Line,
    second: float,
    *,
    source: Entry | None = None,
    reply_to: Entry | None = None,
) -> Entry:
    author = world.cast[line.by]
    liked = APPEAL * line.appeal * rng.paretovariate(1.6) * (0.3 if reply_to else 1)
    return Entry(
        author, second, line.text, line.language, line.key, line.warning, line.visibility, source, reply_to,
        line.pictures, appeal=0 if line.is_repost else liked * author.weight**0.35,
    )  # fmt: skip
