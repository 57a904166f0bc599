"""Hooks: lists to which optional apps add values, such as pages and endpoints, in `AppConfig.ready`.

A hook is defined next to the code that uses it. The core imports no optional app (import-linter checks this); an app
that is not in the setting OPTIONAL_APPS adds nothing.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern

T = TypeVar("T")


class Hook(list[T]):
    """A list of at most `maximum` values, to which apps `add`. Adding a value twice has no effect."""

    def __init__(self, *, maximum: int | None = None) -> None:
        super().__init__()
        self._maximum = maximum

    def add(self, *values: T) -> None:
        """Add values. Raises ImproperlyConfigured if there are too many, e.g. two values for a hook that takes one."""
        self += [value for value in values if value not in self]
        if self._maximum is not None and len(self) > self._maximum:
            raise ImproperlyConfigured(f"a hook takes at most {self._maximum} of {self}")


def urlpatterns_of(modules: Iterable[str]) -> list[URLPattern]:
    """The URL patterns of all these modules."""
    return [pattern for name in modules for pattern in import_module(name).urlpatterns]
