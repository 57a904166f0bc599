"""Hooks: what optional apps add to the core, each in its `AppConfig.ready`.

A hook stands in the module that uses it. The core imports no optional app (a contract of import-linter); an app that is
left out of the setting OPTIONAL_APPS adds nothing.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Generic, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern

T = TypeVar("T")


class Hook(Generic[T]):
    """Values in the order in which they were added, at most `maximum`; the same one twice is there once."""

    def __init__(self, *, maximum: int | None = None) -> None:
        self._added: list[T] = []
        self._maximum = maximum

    def add(self, *values: T) -> None:
        """ImproperlyConfigured when there are too many: two apps want what only one can have."""
        self._added += [value for value in values if value not in self._added]
        if self._maximum is not None and len(self._added) > self._maximum:
            raise ImproperlyConfigured(f"at most {self._maximum} of {self._added}")

    def __len__(self) -> int:
        return len(self._added)

    def __iter__(self) -> Iterator[T]:
        return iter(self._added)


def urlpatterns_of(modules: Iterable[str]) -> list[URLPattern]:
    """Those of all these modules."""
    return [pattern for name in modules for pattern in import_module(name).urlpatterns]
