"""The web server's entry point (granian, RSGI)."""

import gc
import os

import django

from feedcache.servers import topology_listener
from feedsite.checks import stop_if_refused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")
django.setup()

# these modules import models, which need `django.setup`
from apps.timeline.fanout import lag
from feedsite.monitoring import pools, tracing
from feedsite.server.handler import Handler
from feedsite.templates import load_all

tracing.start("web")
application = Handler()
stop_if_refused()
load_all()
topology_listener.start("web")
topology_listener.listener().every_second(lag.follow)
topology_listener.listener().every_second(pools.count)

# Exempt the imported code from garbage collection, which would take 0.1 s now and then; requests leave few cycles.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 50)
