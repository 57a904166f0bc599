"""What news says to which of those who listen, decided as their pages are: by the same gate and the same rules."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.api.entities.conversation import conversation_json
from apps.api.entities.notification import notification_json
from apps.api.entities.status import status_json
from apps.conversations.queries import conversation_about
from apps.filters.models import FilterContext
from apps.graph.circle_queries import circle_audience
from apps.graph.queries import Relations, exact_relations
from apps.lists.models import RepliesPolicy, UserList
from apps.notifications.queries import latest_notification_id, notifications_page
from apps.oauth.queries import Bearer, bearer_of
from apps.paging import Cursor
from apps.posts.content.text import tag_names
from apps.posts.models import OPEN, Kind, Mention, Post, Visibility
from apps.streaming.streams import Stream
from apps.streaming.tickets import PREFIX, bearer_of_ticket
from apps.tags.queries import followers_among
from apps.timeline.home import home_rule
from apps.timeline.pipeline.filters import apply_filters, is_hidden
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import not_muted
from apps.timeline.sources.sql import list_ids

MAX_NOTIFICATIONS = 40  # told at once; whoever gets more than that will look at the page
USER = Stream("user")
DIRECT = Stream("direct")
NOTIFICATIONS = Stream("user:notification")
RELATED_BATCH_SIZE = 1000

Heard = Mapping[Stream, Collection[int]]  # who listens to what, by the ids of the listeners


@dataclass(frozen=True, slots=True)
class News:
    """What one listener is told on some of their streams; `payload` is JSON, or the bare id of a deleted post."""

    listener_id: int
    streams: frozenset[Stream]
    event: str
    payload: str


def news_of_post(post_id: int, event: str, heard: Heard) -> Iterator[News]:
    """A post that is new (`update`) or says something else (`status.update`), to everybody who may see it now."""
    post = Post.objects.filter(pk=post_id, deleted_at=None).first()
    if post is None:
        return
    concerned = _concerned(post, heard)
    listeners = users_by_id(concerned)
    for listener_id, streams in concerned.items():
        if listener_id in listeners:
            yield from _told(listeners[listener_id], streams, post_id, event)


def news_of_delete(post_id: int, heard: Heard) -> Iterator[News]:
    """A post that is gone, to those who could have it on a page: nobody across a block, who never saw it."""
    post = Post.objects.filter(pk=post_id).exclude(deleted_at=None).first()
    if post is None:
        return
    concerned = _concerned(post, heard)
    severed = _severed(post.author_id, list(concerned))
    for listener_id, streams in concerned.items():
        if listener_id not in severed:
            yield News(listener_id, frozenset(streams), "delete", str(post_id))


def news_of_notifications(listener_id: int, after: int) -> tuple[int, list[News]]:
    """The notifications of a listener above an id, oldest first, and the id to go on from."""
    listener = users_by_id([listener_id]).get(listener_id)
    if listener is None:
        return after, []
    page = notifications_page(listener, Cursor(min_id=after, limit=MAX_NOTIFICATIONS))
    streams = frozenset({USER, NOTIFICATIONS})
    news = [
        News(listener_id, streams, "notification", _text(notification_json(item)))
        for item in reversed(page.items)
    ]
    return max(after, page.newer or 0), news


def news_of_conversation(listener_id: int, post_id: int) -> list[News]:
    """What was said last in a conversation of a listener's; nothing when it is hidden, or more has been said since."""
    listener = users_by_id([listener_id]).get(listener_id)
    talk = conversation_about(listener, post_id) if listener else None
    if talk is None:
        return []
    return [News(listener_id, frozenset({DIRECT}), "conversation", _text(conversation_json(talk)))]


def newest_notification(listener: User) -> int:
    """The id above which notifications are news."""
    return latest_notification_id(listener)


def ended_tokens(tokens: Iterable[str]) -> set[str]:
    """Those of the tokens that are no longer good."""
    return {token for token in tokens if listener_of(token) is None}


def listener_of(token: str) -> Bearer | None:
    """Who is behind a token, and what it may hear; None when it is not good, or no person's."""
    bearer = bearer_of_ticket(token) if token.startswith(PREFIX) else bearer_of(token)
    return bearer if bearer and bearer.user else None


def _told(listener: User, streams: Collection[Stream], post_id: int, event: str) -> Iterator[News]:
    found = hydrate(listener.pk, [post_id])
    for item in apply_filters(listener, None, found.items):  # one, or none when the gate hides it
        shown = {one for one in streams if _belongs(one, listener, item, found.relations)}
        if shown:
            yield News(listener.pk, frozenset(shown), event, _text(status_json(item)))


def _belongs(stream: Stream, listener: User, item: FeedItem, relations: Relations) -> bool:
    if stream.is_media_only and not item.shown.post.pictures:
        return False
    at_home = stream == USER or stream.name == "list"
    if is_hidden(FilterContext.HOME if at_home else FilterContext.PUBLIC, item):
        return False
    rule = home_rule(listener) if stream == USER else not_muted
    return rule(item, relations)


def _concerned(post: Post, heard: Heard) -> dict[int, set[Stream]]:
    """Who may have to be told of a post, on which of their streams; the gate has not been asked yet."""
    found: dict[int, set[Stream]] = {}
    is_public = post.visibility == Visibility.PUBLIC and post.kind != Kind.REPOST
    named = tag_names(post.body)
    for stream, listeners in heard.items():
        if stream == USER:
            told: Collection[int] = _at_home(post, listeners)
        elif stream.name == "list":
            told = [one for one in listeners if _in_list(post, one, int(stream.argument))]
        elif stream.is_public or stream.is_tag:
            tagged = stream.is_public or stream.argument in named or post.deleted_at is not None
            told = listeners if is_public and tagged else ()
        else:
            told = ()
        for listener_id in told:
            found.setdefault(listener_id, set()).add(stream)
    return found


def _at_home(post: Post, listeners: Collection[int]) -> set[int]:
    """Those of the listeners who may have a post on their home page: the author, followers, the circle."""
    found = set[int]()
    everybody = list(listeners)
    for start in range(0, len(everybody), RELATED_BATCH_SIZE):
        related = exact_relations(post.author_id, everybody[start : start + RELATED_BATCH_SIZE])
        found |= related.followed_by - related.severed
    if post.visibility == Visibility.MENTIONED:
        found &= set(Mention.objects.filter(post=post).values_list("user_id", flat=True))
    if post.circle_id is not None:
        found = circle_audience(post.circle_id).intersection(listeners)
    found |= {post.author_id}.intersection(listeners)
    names = tag_names(post.body)
    if names and post.visibility == Visibility.PUBLIC:
        found |= followers_among(names, listeners)
    return found


def _severed(author_id: int, listeners: Sequence[int]) -> set[int]:
    """Those of the listeners between whom and the author there is a block."""
    found = set[int]()
    for start in range(0, len(listeners), RELATED_BATCH_SIZE):
        found |= exact_relations(author_id, listeners[start : start + RELATED_BATCH_SIZE]).severed
    return found


def _in_list(post: Post, owner_id: int, list_id: int) -> bool:
    """Whether a post is on the timeline of somebody's list; of a deleted one, whether its author is in the list."""
    found = UserList.objects.filter(pk=list_id, owner=owner_id, members__member=post.author_id)
    user_list = found.first()
    if user_list is None or post.deleted_at is not None:
        return user_list is not None and post.visibility in OPEN
    just_it = Cursor(min_id=post.pk - 1, max_id=post.pk + 1)
    return bool(list_ids(owner_id, list_id, RepliesPolicy(user_list.replies_policy), just_it, 1))


def _text(body: object) -> str:
    return orjson.dumps(body).decode()
