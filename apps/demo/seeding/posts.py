"""Makes the posts: those of the cast, those of the crowd, and
reposts; ids in time order for every author.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import log
from random import Random

from apps.accounts.models import User
from apps.demo.content.loader import Caption, Picture
from apps.demo.seeding.cast_posts import cast_entries
from apps.demo.seeding.clock import HOUR, later, moment
from apps.demo.seeding.pictures import store_picture
from apps.demo.seeding.rows import batches, moment_of
from apps.demo.seeding.texts import Texts
from apps.demo.seeding.world import Entry, Member, World
from apps.posts.content.text import mentioned_handles, tag_names
from apps.posts.models import OPEN, Attachment, Kind, Mention, Post, PostCounts, Visibility
from apps.tags.actions import add_tags
from feedcache.ids import next_post_id, second_of

MAX_POSTS = 40
REPOST_SHARE = 0.12


def make_posts(world: World) -> None:
    """Plan all posts, give them ids, insert them; `world.entries` is everything that can be liked."""
    new = cast_entries(world) if world.makes_cast else []
    new += _crowd_entries(world)
    existing = [] if world.makes_cast else _existing_entries(world)
    new += _crowd_reposts(world, [*existing, *new])
    new.sort(key=lambda entry: (entry.second, entry.author.pk, entry.text))
    for entry in new:
        _assign_id(entry)
    _insert(world, new)
    world.entries = [*existing, *new]


def _existing_entries(world: World) -> list[Entry]:
    authors = {member.pk: member for member in world.cast.values()}
    rows = Post.objects.filter(author__in=authors, deleted_at=None, visibility__in=OPEN).exclude(
        kind=Kind.REPOST
    )
    rng = world.rng("found")
    return [
        Entry(
            authors[post.author_id], post.created_at.timestamp(), post.body, post.language, pk=post.pk, is_new=False,
            visibility=post.visibility, appeal=9 * rng.paretovariate(1.4) * authors[post.author_id].weight**0.35,
        )
        for post in rows.order_by("pk")
    ]  # fmt: skip


def _crowd_entries(world: World) -> list[Entry]:
    rng = world.rng("lines")
    texts = Texts(world.content, world.rng("wording"))
    entries = []
    for member in world.crowd:
        count = round(rng.lognormvariate(log(world.size.posts_each) - 0.4, 0.95))
        for _ in range(max(1, min(MAX_POSTS, count))):
            second = moment(rng, member.language, world.now)
            appeal = rng.paretovariate(1.3) * member.weight**0.5
            entries.append(
                Entry(member, second, texts.text(member.language), member.language, appeal=appeal)
            )
    _add_captions(world, rng, entries)
    return entries


def _add_captions(world: World, rng: Random, entries: list[Entry]) -> None:
    captions = world.content.captions
    sampled = rng.sample(entries, min(world.size.captions, len(entries)))
    deck: list[Caption] = []
    for number, entry in enumerate(sampled):
        round_number, position = divmod(number, len(captions))
        if position == 0:  # every caption once before any comes again
            deck = rng.sample(captions, len(captions))
        caption = deck[position]
        texts = caption.texts[entry.language]
        entry.text = texts[round_number % len(texts)]
        image = caption.images[round_number % len(caption.images)]
        entry.pictures = (Picture(image, caption.alt[entry.language]),)
        entry.appeal *= 3


def _crowd_reposts(world: World, entries: Sequence[Entry]) -> list[Entry]:
    rng = world.rng("reposts")
    shared = [entry for entry in entries if entry.appeal > 0 and entry.visibility in OPEN]
    sums = list(accumulate(entry.appeal for entry in shared))
    reposts: dict[tuple[int, int], Entry] = {}
    for member in world.crowd:
        for _ in range(round(rng.expovariate(1 / (world.size.posts_each * REPOST_SHARE * 3)))):
            source = shared[min(len(shared) - 1, bisect_left(sums, rng.random() * sums[-1]))]
            if source.author is not member:
                second = later(rng, source.second, world.now, minimum=120, maximum=72 * HOUR)
                reposts.setdefault(
                    (member.pk, id(source)), Entry(member, second, source=source, appeal=0)
                )
    return list(reposts.values())


def _assign_id(entry: Entry) -> None:
    author: Member = entry.author
    entry.pk = next_post_id(author.pk, last_id=author.last_post_id, now=int(entry.second))
    entry.thread_pk = entry.reply_to.thread_pk if entry.reply_to else entry.pk
    author.last_post_id = entry.pk
    if entry.visibility not in OPEN:
        return  # the counts are of open posts only
    author.last_open_post_id = entry.pk
    author.posts += 1
    if entry.reply_to:
        entry.reply_to.replies += 1
    if entry.source and entry.is_repost:
        entry.source.reposts += 1
    elif entry.source:
        entry.source.quotes += 1


def _insert(world: World, entries: Sequence[Entry]) -> None:
    for batch in batches(entries):
        Post.objects.bulk_create(_row(entry) for entry in batch)
        PostCounts.objects.bulk_create(PostCounts(post_id=entry.pk) for entry in batch)
        world.advance("posts", len(batch))
    add_tags(_tagged(entries))
    user_ids = dict(User.objects.filter(handle__in=_mentioned(entries)).values_list("handle", "pk"))
    Mention.objects.bulk_create(_mentions(entries, user_ids), batch_size=5_000)
    Attachment.objects.bulk_create(_attachments(world, entries), batch_size=5_000)


def _tagged(entries: Sequence[Entry]) -> Iterator[tuple[int, list[str], bool]]:
    for entry in entries:
        if "#" in entry.text:
            yield entry.pk, tag_names(entry.text), entry.visibility == Visibility.PUBLIC


def _row(entry: Entry) -> Post:
    return Post(
        id=entry.pk,
        author_id=entry.author.pk,
        kind=_kind(entry),
        body=entry.text,
        content_warning=entry.warning,
        language=entry.language,
        visibility=entry.visibility,
        source_id=entry.source.pk if entry.source else None,
        reply_to_id=entry.reply_to.pk if entry.reply_to else None,
        thread_id=entry.thread_pk,
        created_at=moment_of(second_of(entry.pk)),
    )


def _kind(entry: Entry) -> Kind:
    if entry.source:
        return Kind.QUOTE if entry.text else Kind.REPOST
    return Kind.PICTURE if entry.pictures else Kind.TEXT


def _mentioned(entries: Sequence[Entry]) -> set[str]:
    return {
        handle for entry in entries if "@" in entry.text for handle in mentioned_handles(entry.text)
    }


def _mentions(entries: Sequence[Entry], user_ids: dict[str, int]) -> Iterator[Mention]:
    for entry in entries:
        if "@" in entry.text:
            for handle in mentioned_handles(entry.text):
                if handle in user_ids:
                    yield Mention(post_id=entry.pk, user_id=user_ids[handle])


def _attachments(world: World, entries: Sequence[Entry]) -> Iterator[Attachment]:
    number = 0
    for entry in entries:
        for position, picture in enumerate(entry.pictures):
            number += 1
            stored = store_picture(picture.image, f"demo-{world.size_name}-{number}")
            world.advance("pictures", 1)
            yield Attachment(
                post_id=entry.pk,
                position=position,
                file=stored.file,
                preview=stored.preview,
                width=stored.width,
                height=stored.height,
                alt=picture.alt,
            )
