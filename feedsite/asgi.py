"""The streaming server's entry point (granian, ASGI)."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")
django.setup()

from apps.streaming.server import Server
from feedcache.servers import topology_listener
from feedsite.checks import stop_if_refused

stop_if_refused()

application = Server()
topology_listener.start("streaming")
