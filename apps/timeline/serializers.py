"""Feed items as JSON, in the Mastodon shape. Presenting asks no server."""

from typing import Any

from apps.accounts.models import User
from apps.accounts.serializers import absolute, account_json, timestamp
from apps.filters.serializers import caught_json
from apps.posts.content import Picture, PostContent
from apps.posts.drafts import Draft
from apps.posts.models import ScheduledPost
from apps.tags.names import tag_address
from apps.timeline.items import FeedItem
from apps.timeline.schema import VISIBILITY_NAMES

Json = dict[str, Any]


def status_json(item: FeedItem) -> Json:
    """A post as a status; a repost wraps the status it shares."""
    post, shown = item.post, item.shown
    address = absolute(item.url)
    return {
        "id": str(post.id),
        "uri": address,
        "url": address,
        "created_at": timestamp(post.created_at),
        "edited_at": timestamp(post.edited_at) if post.edited_at else None,
        "account": account_json(item.author),
        "content": shown.post.html_for(absolute("")),
        "visibility": VISIBILITY_NAMES[post.visibility],
        "sensitive": shown.post.sensitive or bool(shown.post.content_warning),
        "spoiler_text": shown.post.content_warning,
        "language": shown.post.language or None,
        "in_reply_to_id": str(post.reply_to_id) if post.reply_to_id else None,
        "in_reply_to_account_id": str(item.reply_to_author_id) if item.reply_to_author_id else None,
        "reblog": status_json(item.source) if item.is_repost and item.source else None,
        "quote": _quote(item),
        "media_attachments": [_media(picture) for picture in shown.post.pictures],
        "mentions": [_mention(handle, user_id) for handle, user_id in shown.post.mentions.items()],
        "tags": [
            {"name": tag, "url": absolute(tag_address(name))}
            for name, tag in shown.post.tags.items()
        ],
        "emojis": [],
        "card": None,
        "poll": None,
        "application": None,
        "replies_count": shown.counts.replies,
        "reblogs_count": shown.counts.reposts,
        "favourites_count": shown.counts.likes,
        "favourited": shown.flags.liked,
        "reblogged": shown.flags.reposted,
        "bookmarked": shown.flags.bookmarked,
        "muted": shown.flags.muted,
        "pinned": shown.post.pinned and shown.flags.own,
        "filtered": caught_json(shown.filtered, shown.id),
        "feedsite": {
            "visibility": post.visibility,
            "circle": _circle(item),
            "reads_count": shown.counts.reads if shown.flags.own else None,
        },
    }


def version_json(post: PostContent, author: User) -> Json:
    """A post as it was in one of its versions."""
    return {
        "content": post.html_for(absolute("")),
        "spoiler_text": post.content_warning,
        "sensitive": post.sensitive or bool(post.content_warning),
        "created_at": timestamp(post.created_at),
        "account": account_json(author),
        "media_attachments": [_media(picture) for picture in post.pictures],
        "emojis": [],
    }


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


def _media(picture: Picture) -> Json:
    size = {
        "width": picture.width,
        "height": picture.height,
        "size": f"{picture.width}x{picture.height}",
        "aspect": round(picture.width / picture.height, 4),
    }
    return {
        "id": str(picture.id),
        "type": "image",
        "url": absolute(picture.url),
        "preview_url": absolute(picture.url),
        "remote_url": None,
        "meta": {"original": size, "small": size},
        "description": picture.alt or None,
        "blurhash": None,
    }


def _mention(handle: str, user_id: int) -> Json:
    return {"id": str(user_id), "username": handle, "acct": handle, "url": absolute(f"/@{handle}")}


def scheduled_json(row: ScheduledPost) -> dict[str, Any]:
    """A post that waits for its time."""
    draft = Draft(**row.draft)
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
        "media_ids": None,
    }
    return {
        "id": str(row.pk),
        "scheduled_at": timestamp(row.scheduled_at),
        "params": params,
        "media_attachments": [],
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
