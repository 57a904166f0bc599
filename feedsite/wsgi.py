"""The web server's entry point (granian, WSGI)."""

import gc
import os

from django.conf import settings
from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import reset_queries

from apps.caches import listener
from feedsite.checks import stop_if_refused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

application = get_wsgi_application()
stop_if_refused()
listener.start("web")

# What Django does around every request and nobody needs here, 2 % of a home API request: connections to caches stay open, and
# queries are noted while DEBUG is on only.
request_finished.disconnect(close_caches)
if not settings.DEBUG:
    request_started.disconnect(reset_queries)

# What is there by now stays. Else the collector looks at it again and again: 3 % of a home API request, and now and then
# 0.1 s at once. Requests leave few cycles behind.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 50)
