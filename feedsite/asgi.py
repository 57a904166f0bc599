"""The streaming server's entry point (granian, ASGI)."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")
django.setup()

from apps.caches import listener  # needs the settings
from apps.streaming.server import Server
from feedsite.checks import stop_if_refused

stop_if_refused()

application = Server()
listener.start("streaming")
