"""What this app keeps in Redis: one window of newest ids per reader who is online."""

from django.conf import settings

from apps.caches.window import Windows

# Everything pushed to a reader: posts of followees, restricted ones among them, and the reader's own. The window is
# the reader's alone, and what it names is checked at every read.
HOME = Windows(
    "home:1", length=settings.HOME_WINDOW_LENGTH, ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS
)
