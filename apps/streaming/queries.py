"""What news says to which of those who listen, decided as their pages are: by the same gate and the same rules."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from apps.accounts.models import User
from apps.accounts.queries import user_of_token, users_by_id
from apps.graph.circle_queries import circle_audience
from apps.graph.queries import exact_relations
from apps.notifications.queries import latest_notification_id, notifications_page
from apps.notifications.serializers import notification_json
from apps.paging import Cursor
from apps.posts.models import Kind, Mention, Post, Visibility
from apps.posts.text import tags
from apps.streaming.streams import Stream, fold_tag
from apps.timeline.home import belongs
from apps.timeline.hydrate import hydrate
from apps.timeline.items import FeedItem
from apps.timeline.pages import not_muted
from apps.timeline.serializers import status_json

MOST_NOTIFICATIONS = 40  # told at once; whoever gets more than that will look at the page
USER = Stream("user")
NOTIFICATIONS = Stream("user:notification")
RELATED_AT_ONCE = 1000

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
    for listener_id, streams in _concerned(post, heard).items():
        found = hydrate(listener_id, [post_id])
        for item in found.items:  # one, or none for whom the gate hides it
            at_home = belongs(item, found.relations, viewer_id=listener_id)
            elsewhere = not_muted(item, found.relations)
            told = {one for one in streams if (at_home if one == USER else elsewhere)}
            told = {one for one in told if _has_what_is_asked(item, one)}
            if told:
                yield News(listener_id, frozenset(told), event, _text(status_json(item)))


def news_of_delete(post_id: int, heard: Heard) -> Iterator[News]:
    """A post that is gone, to those who could have it on a page."""
    post = Post.objects.filter(pk=post_id).exclude(deleted_at=None).first()
    if post is None:
        return
    for listener_id, streams in _concerned(post, heard).items():
        yield News(listener_id, frozenset(streams), "delete", str(post_id))


def news_of_notifications(listener_id: int, after: int) -> tuple[int, list[News]]:
    """The notifications of a listener above an id, oldest first, and the id to go on from."""
    listener = users_by_id([listener_id]).get(listener_id)
    if listener is None:
        return after, []
    page = notifications_page(listener, Cursor(min_id=after, limit=MOST_NOTIFICATIONS))
    streams = frozenset({USER, NOTIFICATIONS})
    news = [
        News(listener_id, streams, "notification", _text(notification_json(item)))
        for item in reversed(page.items)
    ]
    return max(after, page.newer or 0), news


def newest_notification(listener: User) -> int:
    """The id above which notifications are news."""
    return latest_notification_id(listener)


def ended_tokens(tokens: Iterable[str]) -> set[str]:
    """Those of the tokens that are no longer good."""
    return {token for token in tokens if user_of_token(token) is None}


def _concerned(post: Post, heard: Heard) -> dict[int, set[Stream]]:
    """Who may have to be told of a post, on which of their streams; the gate has not been asked yet."""
    found: dict[int, set[Stream]] = {}
    is_public = post.visibility == Visibility.PUBLIC and post.kind != Kind.REPOST
    named = {fold_tag(tag) for tag in tags(post.body)}
    for stream, listeners in heard.items():
        if stream == USER:
            told: Collection[int] = _at_home(post, listeners)
        elif stream.is_public or stream.name.startswith("hashtag"):
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
    for start in range(0, len(everybody), RELATED_AT_ONCE):
        related = exact_relations(post.author_id, everybody[start : start + RELATED_AT_ONCE])
        found |= related.followed_by - related.severed
    if post.visibility == Visibility.MENTIONED:
        found &= set(Mention.objects.filter(post=post).values_list("user_id", flat=True))
    if post.circle_id is not None:
        found = set(circle_audience(post.circle_id)).intersection(listeners)
    return found | {post.author_id}.intersection(listeners)


def _has_what_is_asked(item: FeedItem, stream: Stream) -> bool:
    return bool(item.shown.post.pictures) or not stream.is_media_only


def _text(body: object) -> str:
    return orjson.dumps(body).decode()
