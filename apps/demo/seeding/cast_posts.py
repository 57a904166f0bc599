"""Schedules the posts of the cast: replies and reposts come after their post."""

from random import Random

from apps.demo.content.loader import Conversation, WrittenPost
from apps.demo.seeding.clock import HOUR, later, moment
from apps.demo.seeding.world import Entry, World

APPEAL = 9.0  # of a cast post, in generated posts
ROOT_AGE_SECONDS = 14 * HOUR  # time for a conversation to happen
YOUNGEST_SECONDS = 70 * 60  # newer posts have an `ago`


def cast_entries(world: World) -> list[Entry]:
    rng, by_key = world.rng("written"), dict[str, Entry]()
    roots = {post.source for post in world.content.posts if post.source}
    roots |= {conversation.under for conversation in world.content.conversations}
    entries, pending = list[Entry](), list(world.content.posts)
    while pending:
        ready = [post for post in pending if not post.source or post.source in by_key]
        pending = [post for post in pending if post.source and post.source not in by_key]
        for post in ready:
            entry = _entry(world, rng, post, by_key, is_root=post.key in roots)
            entries.append(entry)
            if post.key:
                by_key[post.key] = entry
    for conversation in world.content.conversations:
        entries += _replies(world, rng, conversation, by_key[conversation.under])
    return entries


def _entry(
    world: World, rng: Random, post: WrittenPost, by_key: dict[str, Entry], *, is_root: bool
) -> Entry:
    source = by_key[post.source] if post.source else None
    if post.ago is not None:
        second = world.now - post.ago * 60
    elif source:
        second = later(rng, source.second, world.now, minimum=40 * 60, maximum=60 * HOUR)
    else:
        youngest = ROOT_AGE_SECONDS if is_root else YOUNGEST_SECONDS
        second = moment(rng, post.language, world.now, hour=post.hour, youngest=youngest)
    return _entry_of(world, rng, post, second, source=source)


def _replies(world: World, rng: Random, conversation: Conversation, root: Entry) -> list[Entry]:
    chain = [root]
    for reply in conversation.replies:
        parent = chain[reply.to]
        if reply.post.ago is not None:
            second = world.now - reply.post.ago * 60
        else:  # never before the reply above it
            second = later(rng, chain[-1].second, world.now, minimum=70, maximum=90 * 60)
        chain.append(_entry_of(world, rng, reply.post, second, reply_to=parent))
    return chain[1:]


def _entry_of(
    world: World,
    rng: Random,
    post: WrittenPost,
    second: float,
    *,
    source: Entry | None = None,
    reply_to: Entry | None = None,
) -> Entry:
    author = world.cast[post.by]
    appeal = APPEAL * post.appeal * rng.paretovariate(1.6) * (0.3 if reply_to else 1)
    return Entry(
        author, second, post.text, post.language, post.key, post.warning, post.visibility, source, reply_to,
        post.pictures, appeal=0 if post.is_repost else appeal * author.weight**0.35,
    )  # fmt: skip
