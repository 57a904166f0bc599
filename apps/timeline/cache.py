"""What this app keeps in Redis: two windows of newest ids per reader who is online.

Both are the reader's alone, what they name is checked at every read, and each can be rebuilt from PostgreSQL.
"""

from django.conf import settings

from apps.caches.window import Windows

# Public and unlisted posts of followees, and the reader's own.
HOME = Windows(
    "home:1", length=settings.HOME_WINDOW_LENGTH, ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS
)

# Restricted posts addressed to the reader, and the reader's own: pushed only, whatever the delivery policy of their
# authors, and never in a list that others read (source 002: the inbox beside the outboxes).
INBOX = Windows(
    "inbox:1", length=settings.INBOX_WINDOW_LENGTH, ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS
)
