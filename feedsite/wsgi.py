"""The web server's entry point (granian, WSGI)."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from feedcache.servers import topology_listener
from feedsite.checks import stop_if_refused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

application = get_wsgi_application()
stop_if_refused()
topology_listener.start("web")
# models are not ready before the application is
from apps.timeline.fanout import lag

topology_listener.listener().every_second(lag.follow)

# Exempt the imported code from garbage collection, which would take 0.1 s now and then; requests leave few cycles.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 50)
