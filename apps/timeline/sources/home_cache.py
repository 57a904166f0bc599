"""The home caches in Redis: two windows of newest ids for each reader who is online.

Both belong to one reader, every read checks what they name, and PostgreSQL can rebuild them.
"""

from django.conf import settings

from apps.timeline import policy
from feedcache.structures.home_window import HomeWindows

# Public and unlisted posts of followees, and the reader's own.
HOME = HomeWindows(
    "home:1",
    length=settings.HOME_WINDOW_LENGTH,
    ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS,
    generation=policy.generation,
)

# Restricted posts addressed to the reader, and the reader's own: always pushed, whatever the delivery policy of their
# authors, and never in a list that others read (source 002: the inbox beside the outboxes).
INBOX = HomeWindows(
    "inbox:1", length=settings.INBOX_WINDOW_LENGTH, ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS
)
