"""The tables of posts."""

from apps.posts.models.media import Attachment
from apps.posts.models.polls import Poll
from apps.posts.models.posts import (
    OPEN,
    RESTRICTED,
    IdempotencyKey,
    Kind,
    Mention,
    Post,
    PostCounts,
    QuotePolicy,
    Revision,
    ScheduledPost,
    ThreadMute,
    Visibility,
)

__all__ = [
    "OPEN",
    "RESTRICTED",
    "Attachment",
    "IdempotencyKey",
    "Kind",
    "Mention",
    "Poll",
    "Post",
    "PostCounts",
    "QuotePolicy",
    "Revision",
    "ScheduledPost",
    "ThreadMute",
    "Visibility",
]
