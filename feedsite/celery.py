"""The Celery app. Tasks are doorbells: what must happen is a row in PostgreSQL, see `apps.events`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")

app = Celery("feedsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
