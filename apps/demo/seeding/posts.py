"""Makes the posts of the cast and of the crowd, and reposts. Each author's ids are in chronological order."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import log
from random import Random

from apps.accounts.models import User
from apps.demo.content.loader import Caption, Content, Conversation, Pattern, Picture, WrittenPost
from apps.demo.seeding.pictures import store_picture
from apps.demo.seeding.world import DAY, SPAN_SECONDS, Entry, Member, World, batches, moment_of
from apps.posts.content.text import mentioned_handles, tag_names
from apps.posts.models import OPEN, Attachment, Kind, Mention, Post, PostCounts, Visibility
from apps.tags.actions import add_tags
from feedcache.ids import next_post_id, second_of

HOUR = 3600
# The first and the last hour of each part of the day, in the author's local time.
HOURS = {
    "dawn": (5, 6),
    "morning": (7, 9),
    "noon": (11, 13),
    "afternoon": (14, 17),
    "evening": (18, 20),
    "night": (21, 23),
}
RECENCY = 1.5  # with a value above 1, recent days have more posts than earlier ones
NEWEST_SECONDS = 6 * 60  # the minimum age of generated posts, except reposts
# Relative activity by hour of the author's day.
RHYTHM = (3, 1.5, 1, 0.6, 0.6, 1.2, 3, 6, 8, 8, 7, 7, 9, 8, 6, 6, 6.5, 7, 8.5, 10, 11.5, 12, 10, 6)
# The UTC offset, in seconds, of the authors who write in a language.
OFFSET = {"zh": 8 * HOUR, "en": 0}
APPEAL = 9.0  # a post of the cast gets about as many likes as this many generated posts
# The minimum ages of the cast's posts whose time is drawn at random (without an `ago` or a source):
ROOT_AGE_SECONDS = 14 * HOUR  # of a post that another written post answers, quotes or reposts
YOUNGEST_SECONDS = 70 * 60  # of any other post
# A text that was used before is drawn again, in at most TRIES tries. After PLAIN_TRIES, two sentences are always
# joined, because their combinations give millions of texts.
PLAIN_TRIES, TRIES = 3, 10
WRITTEN_SHARE, JOINED_SHARE, TAGGED_SHARE = 0.3, 0.12, 0.22
MAX_POSTS = 40  # per generated account, without reposts
REPOST_SHARE = 0.12


def make_posts(world: World) -> None:
    """Plan the posts of this run, give them ids, insert them, and fill `world.entries`."""
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
        if position == 0:  # use every caption once before one is repeated
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
        return  # only open posts are counted
    author.last_open_post_id = entry.pk
    author.posts += 1
    if entry.reply_to:
        entry.reply_to.counts["replies"] += 1
    if entry.source and entry.is_repost:
        entry.source.counts["reposts"] += 1
    elif entry.source:
        entry.source.counts["quotes"] += 1


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


def moment(
    rng: Random, language: str, now: float, *, hour: str = "", youngest: float = NEWEST_SECONDS
) -> float:
    """A Unix time in the last 30 days, at least `youngest` seconds ago; recent days are likelier."""
    offset = OFFSET.get(language, 0)
    midnight: float = (
        (now + offset) // DAY * DAY - offset - round(29 * rng.random() ** RECENCY) * DAY
    )
    hour_of_day = rng.randint(*HOURS[hour]) if hour else rng.choices(range(24), RHYTHM)[0]
    second = midnight + hour_of_day * HOUR + rng.randrange(HOUR)
    while second > now - youngest:
        second -= DAY
    return max(second, now - SPAN_SECONDS + rng.randrange(HOUR))


def later(rng: Random, after: float, now: float, *, minimum: float, maximum: float) -> float:
    """A Unix time `minimum` to `maximum` seconds after another; short gaps are likelier.

    The gap is shortened, down to `minimum`, if the time would be in the last NEWEST_SECONDS or in the future.
    """
    gap = minimum + (maximum - minimum) * rng.random() ** 2
    latest = now - NEWEST_SECONDS
    if after + gap < latest:
        return after + gap
    return after + max(minimum, (latest - after) * rng.random())


class Texts:
    """Texts for generated accounts: written lines, used at most once, and sentences from patterns, rarely repeated."""

    def __init__(self, content: Content, rng: Random) -> None:
        self._content, self._rng = content, rng
        self._written = {
            language: iter(rng.sample(lines, len(lines)))
            for language, lines in content.passages.items()
        }
        self._used: set[str] = set()

    def text(self, language: str) -> str:
        if self._rng.random() < WRITTEN_SHARE and (line := next(self._written[language], "")):
            return line
        text = ""
        for attempt in range(TRIES):
            text = self._sentence(
                language, is_joined=attempt >= PLAIN_TRIES or self._rng.random() < JOINED_SHARE
            )
            if text not in self._used:
                break
        self._used.add(text)
        return text

    def _sentence(self, language: str, *, is_joined: bool) -> str:
        patterns = self._content.patterns[language]
        pattern = self._rng.choice(
            [pattern for pattern in patterns if pattern.opens] if is_joined else patterns
        )
        sentence = self._fill(pattern)
        if is_joined:
            pattern = self._rng.choice([pattern for pattern in patterns if pattern.follows])
            sentence += ("" if language == "zh" else " ") + self._fill(pattern)
        if pattern.tags and self._rng.random() < TAGGED_SHARE:
            sentence += f" {self._rng.choice(pattern.tags)}"
        return sentence

    def _fill(self, pattern: Pattern) -> str:
        return pattern.frame.format(
            **{name: self._rng.choice(words) for name, words in pattern.slots.items()}
        )


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
        else:  # never before the previous reply
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
