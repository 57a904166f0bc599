"""Hooks: what optional apps add to the core, each in its `AppConfig.ready`.

A hook stands in the module that uses it. The core imports no optional app (a contract of import-linter); an app that is
left out of the setting OPTIONAL_APPS adds nothing.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Generic, TypeVar

from django.urls import URLPattern

T = TypeVar("T")


class Hook(Generic[T]):
    """Values in the order in which they were added; the same one twice is there once."""

    def __init__(self) -> None:
        self._added: list[T] = []

    def add(self, *values: T) -> None:
        self._added += [value for value in values if value not in self._added]

    def __iter__(self) -> Iterator[T]:
        return iter(self._added)


def urlpatterns_of(modules: Iterable[str]) -> list[URLPattern]:
    """Those of all these modules."""
    return [pattern for name in modules for pattern in import_module(name).urlpatterns]
