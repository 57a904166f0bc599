"""The Celery app. Messages only wake workers: the work itself is in rows in PostgreSQL (see `apps.events`)."""

import gc
import os
from typing import Any

from celery import Celery
from celery.signals import (
    beat_embedded_init,
    beat_init,
    celeryd_init,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_init,
)
from django.core.cache import close_caches
from django.db import close_old_connections

from feedcache.servers import topology_listener
from feedsite.checks import stop_if_refused
from feedsite.monitoring import pools, tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

app = Celery("feedsite", task_cls="feedsite.server.periodic:PeriodicTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@task_prerun.connect
@task_postrun.connect
def give_connections_back(sender: Any, **_signal: Any) -> None:
    """Return connections to this process's pool between tasks, and drop broken ones, as Django does between requests.

    Celery itself would close the pool before and after every task (see CELERY_DB_REUSE_MAX in the settings): with five
    busy workers, that costs 26 new connections per second and two thirds of the time of a small task.
    """
    if not sender.request.is_eager:  # an eager task shares its caller's connection
        close_old_connections()
        close_caches()


@celeryd_init.connect
def wait_longer_for_the_broker(conf: Any, **_signal: Any) -> None:
    """Raise the timeout of workers' connections to the broker: no request waits for them, and a worker that loses its
    connection also loses the messages that it has reserved.

    More than a few seconds would be too long: a worker reads no results of its tasks while it waits for the broker.
    """
    conf.broker_transport_options = {**conf.broker_transport_options, "socket_timeout": 5}


@worker_init.connect
@beat_init.connect
def check_settings(**_signal: Any) -> None:
    """Refuse to start with settings that the web server refuses."""
    stop_if_refused()


@worker_init.connect
def prepare_worker(**_signal: Any) -> None:
    """Prepare the parent process, without starting a thread: it forks its children, at the start and whenever one dies.

    A child that is forked while a thread holds the lock of a connection pool would wait for that lock forever, and
    never take a task.
    """
    topology_listener.listener().role = "worker"  # for Celery's pools that do not fork
    freeze_gc()


@worker_process_init.connect
def follow_topology(**_signal: Any) -> None:
    """Start the topology listener and tracing in each child of the worker."""
    topology_listener.listener().every_second(pools.count)
    topology_listener.start("worker")
    tracing.start("worker")
    freeze_gc()


@beat_init.connect
@beat_embedded_init.connect
def follow_topology_in_beat(**_signal: Any) -> None:
    """Start the listener in beat, too: beat uses no caches, but its reports show that it is running."""
    topology_listener.start("beat")
    freeze_gc()


def freeze_gc() -> None:
    """Exempt everything that has been imported from garbage collection.

    On a busy machine, the collection at exit can take longer than the launcher waits before it kills beat.
    """
    gc.collect()
    gc.freeze()
