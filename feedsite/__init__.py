"""The project: settings, routes, the Celery app and the server's entry point. It knows every app by name."""

from feedsite.celery import app as celery_app

__all__ = ["celery_app"]
