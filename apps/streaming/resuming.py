"""Resumes interrupted streams: defines the ids of events, and finds the events that a client has missed since an id.

The id of the last post is not enough, because posts do not arrive in the order of their ids: a transaction may commit
late, the ids of one second are ordered by author, and an author's 17th post in a second gets an id of the next second.
Therefore the id of an event is a `Position`: a post id up to which the client has all posts, and the ids of later posts
that the client has. Notifications are described by the same two parts (`Known`).
"""

import logging
import re
import struct
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field

from django.db import DatabaseError

from apps.errors import BadRequest
from apps.graph.models import RepliesPolicy, UserList
from apps.notifications.models import Conversation
from apps.pagination import Cursor
from apps.posts.models import Post
from apps.sql import is_worker_away
from apps.streaming import queries
from apps.streaming.connections import Connection, Delivered
from apps.streaming.hub import Hub
from apps.streaming.known import Known
from apps.streaming.queries import DIRECT, NOTIFICATIONS, USER
from apps.streaming.streams import Stream
from apps.tags.queries import public_post_ids, tag_named
from apps.timeline.sources import merge, sql
from feedcache.ids import first_id_at, parse_id, second_of

HomeIds = Callable[[int, Cursor, int], list[int]]

logger = logging.getLogger(__name__)

# Posts, and as many notifications; a client that has missed more reloads its pages.
MAX_MISSED = 400
MAX_MISSED_MESSAGES = 40  # on the stream of conversations, which are read one by one
# The maximum age of a position, on streams for which posts of many authors are read.
MAX_MISSED_SECONDS = 2 * 24 * 3600
BATCH = 40  # posts that are read at once
MISSED = "feedsite.missed"  # sent if missed events are too many, too old or not readable
SETTLE_SECONDS = 30  # a post that arrives up to this much later than newer ones is still found
MAX_HAD = 128  # post ids in a position: about 1,400 characters
NOTIFYING = {USER, NOTIFICATIONS}
OWN = {DIRECT, NOTIFICATIONS}  # read from the listener's own rows; positions may have any age
_TEXT = re.compile(
    r"(\d{1,19})(?:\.(\d{1,19})\.([\w-]{0,1366}={0,2})(?:\.([\w-]{1,171}={0,2}))?)?", re.ASCII
)


@dataclass(slots=True)
class Position:
    """The events of a stream that a client has: all posts up to `floor`, those in `had`, and `notifications`.

    The position of a new stream includes everything that exists when it starts. `repeated` is None for a new stream, or
    one that begins with MISSED; for a resumed one, it has the posts that were in `had` at its start and those sent as
    missed; these are not sent again as new.
    """

    floor: int
    notifications: Known | None  # None if the event id did not contain them
    had: set[int] = field(default_factory=set)
    repeated: set[int] | None = None

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Parse an event id; a bare post id means all posts up to that one. Raises BadRequest for any other text."""
        match = _TEXT.fullmatch(text)
        try:
            floor, below, had, above = match.groups("") if match else ("", "", "", "")
            notifications = Known(_id(below), frozenset(_ids(above))) if below else None
            return cls(_id(floor), notifications, set(_ids(had)))
        except (ValueError, struct.error):
            raise BadRequest("This is not the id of an event.", code="bad_event_id") from None

    def __str__(self) -> str:
        known = self.notifications or Known(0)
        above = f".{_text(known.had)}" if known.had else ""
        return f"{self.floor}.{known.floor}.{_text(self.had)}{above}"

    def has(self, event: str, number: int) -> bool:
        """Whether a resumed client already has the notification or post (with the id `number`) of an event."""
        if self.repeated is None or not number:
            return False
        if event == "notification":
            return self.notifications is not None and number in self.notifications
        return number in self.repeated

    def add(self, event: str, number: int) -> None:
        """Record that an event has been sent."""
        if event == "notification":
            self.notifications = (self.notifications or Known(0)).with_these([number])
        elif number > self.floor:
            self.had.add(number)
            self._settle()

    def _settle(self) -> None:
        """Raise the floor, so that few ids are above it."""
        # the ids of prolific authors may be ahead of the clock
        newest = min(second_of(max(self.had)), int(time.time()))
        floor = max(self.floor, first_id_at(newest - SETTLE_SECONDS) - 1)
        above = sorted(number for number in self.had if number > floor)
        if len(above) > MAX_HAD:
            floor, above = above[-MAX_HAD - 1], above[-MAX_HAD:]
        self.floor, self.had = floor, set(above)


def _id(text: str) -> int:
    """Parse an id or 0. Raises ValueError."""
    return 0 if text == "0" else parse_id(text)


def _ids(text: str) -> list[int]:
    """The inverse of `_text`. Raises ValueError or struct.error."""
    return [number for (number,) in struct.iter_unpack(">Q", urlsafe_b64decode(text))]


def _text(ids: Collection[int]) -> str:
    return urlsafe_b64encode(struct.pack(f">{len(ids)}Q", *sorted(ids))).decode()


async def begin(
    hub: Hub, connection: Connection, stream: Stream, given: Position | None
) -> tuple[Position, AsyncIterator[Delivered]]:
    """The position of a stream to which the connection has subscribed, and the events that its client has missed.

    `given` is the position that the client sent; None for a new stream.
    """
    listener_id, notifications = connection.listener_id, connection.notifications
    ids: list[int] | None = []
    if given is not None:
        ids = await hub.catch_up(missed_ids, listener_id, stream, given)
    if given is None or ids is None:
        position = await hub.catch_up(position_now, listener_id, stream, notifications)
        return position, _missed(hub, connection, stream, ids, None)
    given.repeated = given.had | set(ids)
    missed = _missed(hub, connection, stream, ids, given.notifications)
    if given.notifications is None:
        given.notifications = notifications
    return given, missed


async def _missed(
    hub: Hub, connection: Connection, stream: Stream, ids: list[int] | None, known: Known | None
) -> AsyncIterator[Delivered]:
    """Events for the posts `ids`, then for notifications not in `known`, oldest first; only MISSED if `ids` is None."""
    if ids is None:
        yield Delivered(connection.streams[stream], MISSED, "{}")
        return
    listener_id = connection.listener_id
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        for item in await hub.catch_up(queries.events_of_missed, listener_id, stream, batch):
            yield connection.delivered(stream, item)
    while known is not None and stream in NOTIFYING:
        before = known
        known, events = await hub.catch_up(queries.events_of_notifications, listener_id, before)
        for item in events:
            yield connection.delivered(stream, item)
        if known == before:
            break


def position_now(listener_id: int, stream: Stream, notifications: Known) -> Position:
    """The position of a new stream, which does not deliver earlier posts and notifications.

    Streams begin often, so the stream `user` reads the site's latest posts instead of each followee's newest posts.
    """
    floor = first_id_at(int(time.time()) - SETTLE_SECONDS) - 1
    newest = Cursor(since_id=floor)
    ids = candidate_ids(listener_id, stream, newest, MAX_HAD, home_ids=sql.home_ids_nearby) or []
    if len(ids) == MAX_HAD:
        floor = ids[-1]
    # the search covered only the site's newest `NEARBY` posts, so all older ones must be covered by the floor; posts
    # published since then only raise it
    posts = Post.objects.filter(pk__gt=floor).order_by("-pk").values_list("pk", flat=True)
    for lowest in posts[sql.NEARBY - 1 : sql.NEARBY] if stream == USER else ():
        floor = lowest - 1
    return Position(floor, notifications, set(ids))


def missed_ids(listener_id: int, stream: Stream, position: Position) -> list[int] | None:
    """The posts that a client may have missed, oldest first, before the rules of the stream's page are applied.

    None if too many posts or notifications were missed, the position is too old, or posts cannot be read.
    """
    oldest = first_id_at(int(time.time()) - MAX_MISSED_SECONDS)
    if stream not in OWN and position.floor < oldest:
        return None
    if position.notifications is not None and stream in NOTIFYING:
        rows = position.notifications.missing(listener_id)
        if rows[: MAX_MISSED + 1].count() > MAX_MISSED:
            return None
    most = MAX_MISSED_MESSAGES if stream == DIRECT else MAX_MISSED
    limit = most + len(position.had) + 1
    ids = candidate_ids(listener_id, stream, Cursor(min_id=position.floor), limit)
    if ids is None:
        return None
    missed = [post_id for post_id in ids if post_id not in position.had]
    return missed if len(missed) <= most else None


def candidate_ids(
    listener_id: int,
    stream: Stream,
    cursor: Cursor,
    count: int,
    *,
    home_ids: HomeIds | None = None,
) -> list[int] | None:
    """Up to `count` ids of posts that may be on the page of a stream, from PostgreSQL, in the order of the cursor.

    None while a Citus worker with such posts does not respond.
    """
    try:
        lists = _candidates(listener_id, stream, cursor, count, home_ids or sql.home_ids)
    except DatabaseError as error:
        if not is_worker_away(error):
            raise
        logger.warning("a stream of %s without the posts of a server: %s", listener_id, error)
        return None
    return merge.first_ids(lists, count, ascending=cursor.ascending)


def _candidates(
    listener_id: int, stream: Stream, cursor: Cursor, count: int, home_ids: HomeIds
) -> list[Sequence[int]]:
    lists: list[Sequence[int]] = []
    if stream == USER:
        lists.append(home_ids(listener_id, cursor, count))
        lists.append(sql.followed_tag_ids(listener_id, cursor, count))
    elif stream == DIRECT:
        lists.append(_last_messages(listener_id, cursor, count))
    elif stream.name == "list":
        rows = UserList.objects.filter(pk=int(stream.argument), owner=listener_id)
        lists += [
            sql.list_ids(listener_id, row.pk, RepliesPolicy(row.replies_policy), cursor, count)
            for row in rows
        ]
    elif stream.is_tag:
        tag = tag_named(stream.argument)
        lists.append(public_post_ids(tag.pk, cursor, count) if tag.pk else [])
    elif stream.is_public:
        lists.append(sql.public_ids(cursor, count, only_media=stream.is_media_only))
    return lists


def _last_messages(listener_id: int, cursor: Cursor, count: int) -> list[int]:
    rows = Conversation.objects.filter(user=listener_id, last_post__gt=cursor.floor)
    order = "last_post" if cursor.ascending else "-last_post"
    return list(rows.order_by(order).values_list("last_post", flat=True)[:count])
