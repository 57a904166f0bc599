"""The Celery app. Tasks are doorbells: what must happen is a row in PostgreSQL, see `apps.events`."""

import os
from typing import Any

from celery import Celery
from celery.signals import beat_embedded_init, beat_init, worker_init, worker_process_init

from apps.caches import listener

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

app = Celery("feedsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
@worker_process_init.connect
def follow_topology(**_signal: Any) -> None:
    """The worker and each of its children use what staff decide, at once."""
    listener.start("worker")


@beat_init.connect
@beat_embedded_init.connect
def follow_topology_in_beat(**_signal: Any) -> None:
    """Beat keeps nothing in caches, but staff want to see that all processes agree."""
    listener.start("beat")
