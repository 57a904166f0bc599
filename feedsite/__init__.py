"""The project: settings, routes, the Celery app and the servers' entry points."""

__version__ = "0.3.0"  # the only place: pyproject.toml and the API read it from here

from feedsite.celery import app as celery_app

__all__ = ["__version__", "celery_app"]
