"""Feed items as JSON, in the Mastodon shape. Presenting asks no server."""

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Any

import orjson
from django.conf import settings

from apps.accounts.models import User
from apps.accounts.serializers import absolute, account_json, timestamp
from apps.engagement.queries import PollResult
from apps.filters.serializers import caught_json
from apps.posts.content import Application, Picture, PostContent
from apps.posts.drafts import Draft, PollDraft
from apps.posts.models import ScheduledPost
from apps.tags.names import tag_address
from apps.timeline.items import FeedItem
from apps.timeline.schema import VISIBILITY_NAMES

Json = dict[str, Any]
VARIANTS = 8  # of a status that are kept


def status_json(item: FeedItem) -> Json:
    """A post as a status; a repost wraps the status it shares."""
    post, shown = item.post, item.shown
    flags, counts = shown.flags, shown.counts
    origin = settings.SITE_URL
    address = f"{origin}{item.url}"
    return {
        **_frame(post),
        "in_reply_to_id": _text(item.reply_to_id),
        "in_reply_to_account_id": _text(item.reply_to_author_id),
        "uri": address,
        "url": address,
        "account": account_json(item.author),
        **_said(shown.post, origin),
        "reblog": status_json(item.source) if item.is_repost and item.source else None,
        "quote": _quote(item),
        "quote_approval": {
            "automatic": ["public"] if shown.post.is_open else [],
            "manual": [],
            "current_user": "automatic" if shown.can_repost or flags.own else "denied",
        },
        "emojis": [],
        "card": None,
        "poll": poll_json(shown) if shown.post.poll else None,
        "replies_count": counts.replies,
        "reblogs_count": counts.reposts,
        "favourites_count": counts.likes,
        "quotes_count": counts.quotes,
        "favourited": flags.liked,
        "reblogged": flags.reposted,
        "bookmarked": flags.bookmarked,
        "muted": flags.muted,
        "pinned": shown.post.pinned and flags.own,
        "filtered": caught_json(shown.filtered, shown.id),
        "feedsite": {
            "visibility": post.visibility,
            "circle": _circle(item),
            "reads_count": counts.reads if flags.own else None,
        },
    }


def status_pieces(items: Sequence[FeedItem]) -> list[Json | orjson.Fragment]:
    """The same for an answer that is written at once, as bytes where these are kept: beside the content, under all that
    they depend on besides. Kept are the most frequent: posts that share and ask nothing, seen by all, caught by no filter.
    """
    origin = settings.SITE_URL
    people: dict[int, Hashable] = {}  # a page has several posts of one author
    pieces: list[Json | orjson.Fragment] = []
    for item in items:
        post, author = item.post, item.author
        is_plain = post.source_id is None and post.poll is None and not item.filtered
        if not is_plain or not post.is_open or author.derived is None:
            pieces.append(status_json(item))
            continue
        person = people.get(post.author_id)
        if person is None:
            person = people[post.author_id] = origin, *_person(author)
        pieces.append(_piece(item, person))
    return pieces


def _person(author: User) -> tuple[Hashable, ...]:
    """What statuses say of their author."""
    derived: dict[str, Any] = author.derived or {}
    card = derived.setdefault("card", object())  # other bytes in the cache, another one
    counts = author.counts
    return card, counts.followers, counts.following, counts.posts


def _piece(item: FeedItem, person: Hashable) -> orjson.Fragment:
    kept: dict[Any, orjson.Fragment] = item.post.derived.setdefault("pieces", {})
    key = person, item.counts, item.flags, item.reply_to_id
    piece = kept.get(key)
    if piece is None:
        if len(kept) >= VARIANTS:
            kept.clear()
        piece = kept[key] = orjson.Fragment(orjson.dumps(status_json(item)))
    return piece


def _frame(post: PostContent) -> Json:
    """What a post says of itself, the same for everybody: made once a content, and shared."""
    known: Json | None = post.derived.get("frame")
    if known is None:
        known = post.derived["frame"] = {
            "id": str(post.id),
            "created_at": timestamp(post.created_at),
            "edited_at": timestamp(post.edited_at) if post.edited_at else None,
            "visibility": VISIBILITY_NAMES[post.visibility],
        }
    return known


def _said(post: PostContent, origin: str) -> Json:
    """What is said in a post, likewise; the addresses in it are those of this site."""
    key = "said", origin
    known: Json | None = post.derived.get(key)
    if known is None:
        known = post.derived[key] = {
            "content": post.html_for(origin),
            "sensitive": post.sensitive or bool(post.content_warning),
            "spoiler_text": post.content_warning,
            "language": post.language or None,
            "media_attachments": [media_json(picture) for picture in post.pictures],
            "mentions": [_mention(handle, user_id) for handle, user_id in post.mentions.items()],
            "tags": [
                {"name": tag, "url": absolute(tag_address(name))} for name, tag in post.tags.items()
            ],
            "application": _application(post.application),
        }
    return known


def version_json(post: PostContent, author: User) -> Json:
    """A post as it was in one of its versions."""
    return {
        "content": post.html_for(absolute("")),
        "spoiler_text": post.content_warning,
        "sensitive": post.sensitive or bool(post.content_warning),
        "created_at": timestamp(post.created_at),
        "account": account_json(author),
        "media_attachments": [media_json(picture) for picture in post.pictures],
        "emojis": [],
    }


def _application(application: Application | None) -> Json | None:
    if application is None:
        return None
    return {"name": application.name, "website": application.website or None}


def _circle(item: FeedItem) -> Json | None:
    if item.post.circle_id is None:
        return None
    return {"id": str(item.post.circle_id), "title": item.circle_name}


def _quote(item: FeedItem) -> Json | None:
    if item.lost_quote:
        return {"state": "unauthorized", "quoted_status": None}
    if item.quoted is None:
        return None
    return {"state": "accepted", "quoted_status": status_json(item.quoted)}


def media_json(picture: Picture) -> Json:
    """A picture as a media attachment."""
    return {
        "id": str(picture.id),
        "type": "image",
        "url": absolute(picture.url),
        "preview_url": absolute(picture.preview_url or picture.url),
        "remote_url": None,
        "meta": {
            "original": _size(picture.width, picture.height),
            "small": _size(*picture.preview_size),
            "focus": {"x": picture.focus_x, "y": picture.focus_y},
        },
        "description": picture.alt or None,
        "blurhash": picture.blurhash or None,
    }


def _size(width: int, height: int) -> Json:
    return {
        "width": width,
        "height": height,
        "size": f"{width}x{height}",
        "aspect": round(width / height, 4),
    }


def poll_json(item: FeedItem) -> Json:
    """The poll of a post that has one."""
    poll, result = item.post.poll, item.poll
    if poll is None:
        raise TypeError("this post has no poll")
    result = result or PollResult()
    # an edit may have changed the options a moment after the content was read
    fits = item.shows_votes and len(result.votes) == len(poll.options)
    votes = result.votes if fits else ()
    return {
        "id": str(item.id),
        "expires_at": timestamp(poll.expires_at),
        "expired": item.poll_is_over,
        "multiple": poll.multiple,
        "votes_count": sum(result.votes),
        "voters_count": result.voters if poll.multiple else None,
        "options": [
            {"title": title, "votes_count": count}
            for title, count in zip_longest(poll.options, votes)
        ],
        "emojis": [],
        "voted": item.flags.own or bool(result.own),
        "own_votes": list(result.own),
    }


def _mention(handle: str, user_id: int) -> Json:
    return {"id": str(user_id), "username": handle, "acct": handle, "url": absolute(f"/@{handle}")}


def scheduled_json(row: ScheduledPost) -> dict[str, Any]:
    """A post that waits for its time."""
    draft = Draft.restored(row.draft)
    params = {
        "text": draft.body,
        "visibility": VISIBILITY_NAMES[draft.visibility],
        "in_reply_to_id": _text(draft.reply_to_id),
        "quoted_status_id": _text(draft.quote_of_id),
        "circle_id": _text(draft.circle_id),
        "spoiler_text": draft.content_warning,
        "sensitive": draft.sensitive,
        "language": draft.language or None,
        "scheduled_at": None,
        "media_ids": [str(number) for number in draft.media_ids] or None,
        "poll": _asked(draft.poll) if draft.poll else None,
    }
    return {
        "id": str(row.pk),
        "scheduled_at": timestamp(row.scheduled_at),
        "params": params,
        "media_attachments": [media_json(Picture.of(one)) for one in row.attachments.all()],
    }


def _asked(poll: PollDraft) -> Json:
    return {
        "options": list(poll.options),
        "expires_in": poll.seconds,
        "multiple": poll.multiple,
        "hide_totals": poll.hide_totals,
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
