"""The web server's entry point: granian, RSGI."""

from typing import cast

from django.conf import settings

from feedsite.server.adapter import WSGI, RSGIAdapter
from feedsite.templates import load_all
from feedsite.wsgi import application as django

load_all()
# More threads than running and queued requests: one is always free to refuse.
threads = sum(settings.WEB_CONCURRENCY.values()) + sum(settings.WEB_QUEUE.values()) + 4
application = RSGIAdapter(cast("WSGI", django), threads=threads)
