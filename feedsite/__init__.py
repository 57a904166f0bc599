"""The project: settings, routes, the Celery app and the server's entry point. It knows every app by name."""

__version__ = "0.1.0"  # the only place: pyproject.toml, the API and its documents take it from here

from feedsite.celery import app as celery_app

__all__ = ["__version__", "celery_app"]
