"""The web server's entry point: granian, RSGI."""

from typing import cast

from django.conf import settings

from feedsite.server.adapter import WSGI, RSGIAdapter
from feedsite.wsgi import application as django

# More threads than running and queued requests: one is always free to refuse.
application = RSGIAdapter(
    cast("WSGI", django), threads=settings.WEB_CONCURRENCY + settings.WEB_QUEUE + 4
)
