"""Hooks: what optional apps add to the core, each in its `AppConfig.ready`.

A hook stands in the module that uses it. The core imports no optional app (a contract of import-linter); an app that is
left out of the setting OPTIONAL_APPS adds nothing.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern

T = TypeVar("T")


class Hook(list[T]):
    """A list of at most `maximum` values, to which apps `add`. A value that is added twice is there once."""

    def __init__(self, *, maximum: int | None = None) -> None:
        super().__init__()
        self._maximum = maximum

    def add(self, *values: T) -> None:
        """Add values; ImproperlyConfigured if there are too many, because two apps claim what only one can have."""
        self += [value for value in values if value not in self]
        if self._maximum is not None and len(self) > self._maximum:
            raise ImproperlyConfigured(f"at most {self._maximum} of {self}")


def urlpatterns_of(modules: Iterable[str]) -> list[URLPattern]:
    """The URL patterns of all these modules."""
    return [pattern for name in modules for pattern in import_module(name).urlpatterns]
