"""Turns a message of `events.live.announce` into events for each listener, by the rules of visibility of the pages."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.api.entities.notification import markers_json, notification_json
from apps.api.entities.status import status_json
from apps.api.entities.timeline import conversation_json
from apps.filters.models import FilterContext
from apps.filters.queries import active_filters_of
from apps.graph.models import RepliesPolicy, UserList
from apps.graph.queries import exact_relations
from apps.notifications.conversations.queries import conversation_with_last_post
from apps.notifications.queries import notification_items, read_markers
from apps.oauth.queries import Bearer, bearer_of, valid_tokens
from apps.pagination import Cursor
from apps.posts.cache import load_open
from apps.posts.content.text import tag_names
from apps.posts.models import OPEN, Kind, Post, Visibility
from apps.posts.queries import Preloaded
from apps.posts.visibility import readers_among
from apps.streaming.known import Known
from apps.streaming.streams import Stream
from apps.streaming.tickets import PREFIX, bearer_of_ticket, valid_tickets
from apps.tags.queries import followers_among
from apps.timeline.pipeline.facts import ReaderFacts, facts_of_home
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.rulebook import HOME_RULES, LIST_RULES, NOT_MUTED, passed
from apps.timeline.pipeline.word_filters import mark
from apps.timeline.sources.sql import list_ids
from feedcache.ids import author_of

MAX_NOTIFICATIONS = 40  # sent for one message of `announce`; the rest is sent with the next one
USER = Stream("user")
DIRECT = Stream("direct")
NOTIFICATIONS = Stream("user:notification")

Listeners = Mapping[Stream, Collection[int]]  # the ids of the listeners of each stream


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event for some streams of one listener; `payload` is JSON, the bare id of a deleted post, or empty.

    `number` is the id of the new post or notification, or of a conversation's new message; 0 for other events.
    """

    listener_id: int
    streams: frozenset[Stream]
    event: str
    payload: str
    number: int = 0


def events_of_post(
    post_id: int, event: str, listeners_by_stream: Listeners
) -> Iterator[StreamEvent]:
    """Events for listeners who may see a post. `event`: `update` for a new post, else `status.update`."""
    post = Post.objects.filter(pk=post_id, deleted_at=None).first()
    if post is None:
        return
    audience = _audience(post, listeners_by_stream)
    listeners = users_by_id(audience)
    # read once for all listeners, from PostgreSQL: a cache that missed an edit may have the old text for a moment
    content = load_open([post_id]) if listeners else {}
    for listener_id, streams in audience.items():
        if listener_id in listeners:
            yield from _events_for(listeners[listener_id], streams, [post_id], event, content)


def events_of_missed(
    listener_id: int, stream: Stream, post_ids: Sequence[int]
) -> list[StreamEvent]:
    """Events for posts (at most 200) that a stream of the listener did not deliver, with their current contents."""
    listener = users_by_id([listener_id]).get(listener_id)
    if listener is None:
        return []
    if stream == DIRECT:
        found = [one for number in post_ids for one in events_of_conversation(listener_id, number)]
        return [one for one in found if stream in one.streams]
    return list(_events_for(listener, [stream], post_ids, "update", load_open(post_ids)))


def events_of_delete(post_id: int, listeners_by_stream: Listeners) -> Iterator[StreamEvent]:
    """Events for a post that was deleted, or hidden by staff, for listeners who may have it on a page.

    Listeners who have blocked the author, or whom the author has blocked, get none. Neither does the author of a
    hidden post, who can still see it.
    """
    post = Post.objects.filter(pk=post_id).exclude(deleted_at=None, hidden_at=None).first()
    if post is None:
        return
    audience = _audience(post, listeners_by_stream)
    if post.deleted_at is None:
        audience.pop(post.author_id, None)
    severed = exact_relations(post.author_id, audience).severed
    for listener_id, streams in audience.items():
        if listener_id not in severed:
            yield StreamEvent(listener_id, frozenset(streams), "delete", str(post_id))


def events_of_notifications(listener_id: int, known: Known) -> tuple[Known, list[StreamEvent]]:
    """The oldest 40 notifications that are not in `known`: a `Known` that includes them, and their events."""
    listener = users_by_id([listener_id]).get(listener_id)
    if listener is None:
        return known, []
    rows = list(known.missing(listener_id)[:MAX_NOTIFICATIONS])
    streams = frozenset({USER, NOTIFICATIONS})
    events = [
        StreamEvent(listener_id, streams, "notification", _text(notification_json(item)), item.id)
        for item in notification_items(listener, rows)
    ]
    return known.with_these(row.pk for row in rows), events


def events_of_conversation(
    listener_id: int, post_id: int, *, is_new: bool = True
) -> list[StreamEvent]:
    """Events for the last message of a conversation: a new one or, if `is_new` is false, one that was seen.

    The list is empty if the message is hidden from the listener, or is no longer the last. Mastodon sends new messages
    only on the stream `direct`, and has no event for seen ones; `feedsite.conversation` on the stream `user` is sent
    for both.
    """
    listener = users_by_id([listener_id]).get(listener_id)
    conversation = conversation_with_last_post(listener, post_id) if listener else None
    if conversation is None:
        return []
    said = _text(conversation_json(conversation))
    changed = _text({"id": str(conversation.id)})
    events = [
        StreamEvent(listener_id, frozenset({DIRECT}), "conversation", said, post_id),
        StreamEvent(listener_id, frozenset({USER}), "feedsite.conversation", changed),
    ]
    return events if is_new else events[1:]


def events_of_markers(listener_id: int) -> list[StreamEvent]:
    """An event with the read markers of a listener. Mastodon has no such event."""
    listener = users_by_id([listener_id]).get(listener_id)
    if listener is None:
        return []
    payload = _text(markers_json(read_markers(listener)))
    return [StreamEvent(listener_id, frozenset({USER}), "feedsite.markers", payload)]


def event_of_filters(listener_id: int) -> StreamEvent:
    """An event without payload for a changed filter of the listener; clients then read all filters again."""
    return StreamEvent(listener_id, frozenset({USER}), "filters_changed", "")


def event_of_delivery(post_id: int) -> StreamEvent:
    """An event for the author of a post whose delivery has progressed. Mastodon has no such event."""
    payload = _text({"id": str(post_id)})
    return StreamEvent(author_of(post_id), frozenset({USER}), "feedsite.delivery", payload)


def ended_tokens(tokens: Collection[str]) -> set[str]:
    """The tokens and tickets that are no longer valid."""
    tickets = {token for token in tokens if token.startswith(PREFIX)}
    rest = set(tokens) - tickets
    return (rest - valid_tokens(rest)) | (tickets - valid_tickets(tickets))


def listener_of(token: str) -> Bearer | None:
    """The user and the scopes of an access token or a ticket; None if it is invalid or has no user."""
    bearer = bearer_of_ticket(token) if token.startswith(PREFIX) else bearer_of(token)
    return bearer if bearer and bearer.user else None


def _events_for(
    listener: User,
    streams: Collection[Stream],
    post_ids: Sequence[int],
    event: str,
    content: Preloaded,
) -> Iterator[StreamEvent]:
    """One event for each post that the listener may see and that belongs on the page of at least one stream."""
    found = hydrate(listener.pk, post_ids, preloaded=content)
    facts = ReaderFacts(listener, None, active_filters_of(listener), found.relations)
    shown = {stream: _belonging(stream, found.items, facts) for stream in streams}
    for item in found.items:
        visible = frozenset(stream for stream, ids in shown.items() if item.id in ids)
        if visible:
            payload = _text(status_json(mark(item, facts.filters, None)))
            number = item.id if event == "update" else 0
            yield StreamEvent(listener.pk, visible, event, payload, number)


def _belonging(stream: Stream, items: Sequence[FeedItem], facts: ReaderFacts) -> set[int]:
    """The ids of the items that pass the rules of the page that the stream updates. Streams have no promoted posts."""
    if stream.is_media_only:
        items = [item for item in items if item.shown.post.pictures]
    book, context = NOT_MUTED, FilterContext.PUBLIC
    if stream == USER and facts.viewer:
        book, context = HOME_RULES, FilterContext.HOME
        facts = facts_of_home(facts.viewer)(facts, items)
    elif stream.name == "list":
        book, context = LIST_RULES, FilterContext.HOME
    return {item.id for item in passed(items, facts._replace(context=context), book)}


def _audience(post: Post, listeners_by_stream: Listeners) -> dict[int, set[Stream]]:
    """The listeners on whose streams a post may belong, with these streams. The caller checks who may see the post."""
    streams_by_listener: dict[int, set[Stream]] = {}
    is_public = post.visibility == Visibility.PUBLIC and post.kind != Kind.REPOST
    tags, listeners_by_list = tag_names(post.body), _on_lists(post, listeners_by_stream)
    for stream, listeners in listeners_by_stream.items():
        if stream == USER:
            user_ids: Collection[int] = _at_home(post, listeners)
        elif stream.name == "list":
            user_ids = listeners_by_list.get(stream, ())
        elif stream.is_public or stream.is_tag:
            tagged = stream.is_public or stream.argument in tags or post.deleted_at is not None
            user_ids = listeners if is_public and tagged else ()
        else:
            user_ids = ()
        for listener_id in user_ids:
            streams_by_listener.setdefault(listener_id, set()).add(stream)
    return streams_by_listener


def _at_home(post: Post, listeners: Collection[int]) -> set[int]:
    """The listeners who may have a post at home: its audience and, if it is public, followers of its tags.

    A deleted post has no tags any more, because its text is deleted, too; followers of any tag may have had it.
    """
    user_ids = readers_among(post, listeners)
    if post.visibility == Visibility.PUBLIC and post.kind != Kind.REPOST:
        tags = None if post.deleted_at is not None else tag_names(post.body)
        user_ids |= followers_among(tags, listeners)
    return user_ids


def _on_lists(post: Post, listeners_by_stream: Listeners) -> Listeners:
    """The streams of lists whose timelines have a post, with the owner of the list if the owner listens.

    One query finds all lists with the author, because clients may subscribe to lists that do not exist.
    """
    streams = {int(one.argument): one for one in listeners_by_stream if one.name == "list"}
    rows = UserList.objects.filter(pk__in=streams, members__member=post.author_id)
    return {
        streams[row.pk]: [row.owner_id]
        for row in rows
        if row.owner_id in listeners_by_stream[streams[row.pk]] and _is_on_list(post, row)
    }


def _is_on_list(post: Post, user_list: UserList) -> bool:
    """Whether the timeline of a list that contains the author has a post or, before its deletion, may have had it."""
    if post.deleted_at is not None:
        return post.visibility in OPEN or bool(readers_among(post, [user_list.owner_id]))
    cursor = Cursor(min_id=post.pk - 1, max_id=post.pk + 1)
    policy = RepliesPolicy(user_list.replies_policy)
    return bool(list_ids(user_list.owner_id, user_list.pk, policy, cursor, 1))


def _text(body: object) -> str:
    return orjson.dumps(body).decode()
