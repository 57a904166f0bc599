"""The web server's entry point (granian, WSGI)."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from feedcache.memcached import topology_listener
from feedsite.checks import stop_if_refused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

application = get_wsgi_application()
stop_if_refused()
topology_listener.start("web")

# What is there by now stays: else the collector looks at it again and again, now and then for 0.1 s at once. Requests leave
# few cycles behind.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 50)
