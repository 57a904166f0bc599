"""The site's Celery app, with one kind of chunk that kills whoever works on it: POISONED_EDGE is its first edge."""

import os
import signal
from importlib import import_module
from typing import Any

from celery.signals import worker_process_init

from feedsite.celery import app

__all__ = ["app"]


@worker_process_init.connect
def poison(**_signal):
    fanout: Any = import_module("apps.timeline.fanout.dispatch")  # only now Django is set up
    deliver = fanout._deliver

    def deadly(chunk):
        if chunk.first_edge == int(os.environ["POISONED_EDGE"]):
            os.kill(os.getpid(), signal.SIGKILL)
        return deliver(chunk)

    fanout._deliver = deadly
