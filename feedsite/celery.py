"""The Celery app. Tasks are doorbells: what must happen is a row in PostgreSQL, see `apps.events`."""

import gc
import os
from typing import Any

from celery import Celery
from celery.signals import (
    beat_embedded_init,
    beat_init,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_init,
)
from django.core.cache import close_caches
from django.db import close_old_connections

from feedcache.memcached import topology_listener
from feedsite.checks import stop_if_refused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

app = Celery("feedsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@task_prerun.connect
@task_postrun.connect
def give_connections_back(sender: Any, **_signal: Any) -> None:
    """Between tasks connections rest in this process's pool, and broken ones are dropped, as between web requests.

    Celery itself would end the pool before and after every task (see CELERY_DB_REUSE_MAX in the settings): that was 26 new
    connections a second with five busy processes, and two thirds of what a small task cost.
    """
    if not sender.request.is_eager:  # else whoever calls goes on with its own
        close_old_connections()
        close_caches()


@worker_init.connect
@beat_init.connect
def check_settings(**_signal: Any) -> None:
    """Refuse what the web server refuses."""
    stop_if_refused()


@worker_init.connect
@worker_process_init.connect
def follow_topology(**_signal: Any) -> None:
    """The worker and each of its children use what staff decide, at once."""
    topology_listener.start("worker")
    settle()


@beat_init.connect
@beat_embedded_init.connect
def follow_topology_in_beat(**_signal: Any) -> None:
    """Beat keeps nothing in caches, but staff want to see that all processes agree."""
    topology_listener.start("beat")
    settle()


def settle() -> None:
    """What a process has imported by now stays to its end: the collector need not look at it again and again.

    Its last look, after everything else had ended, took longer on a busy machine than the launcher waits: beat was killed.
    """
    gc.collect()
    gc.freeze()
