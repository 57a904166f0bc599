"""Pytest plugin: the tests of the library without the site. Django cannot be imported, and only the caches are started.

`feedcache/pyproject.toml` loads it. As a module it also serves child processes: `configure_from_environment`.
"""

import os
import sys
from collections.abc import Generator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from feedcache.settings import Settings, configure
from feedcache.topology import configured
from tests.support import services

FORBIDDEN = {"django", "rest_framework", "celery", "apps", "feedsite"}


class _Refuses:
    """Finds no module of the site, although it may be there."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"{name} is not part of the library", name=name)
        return None


def configure_from_environment() -> None:
    """With the servers that the tests have started. A busy machine is no dead server: tests that need one stop it."""
    configure(
        Settings(
            redis_url=os.environ["REDIS_URL"],
            redis_timeout_seconds=15,
            topology=configured(_urls("MEMCACHED_URLS"), _urls("MEMCACHED_BACKUP_URLS")),
            memcached_timeout_seconds=15,
        )
    )


def _urls(name: str) -> list[str]:
    return [url for url in os.environ.get(name, "").split(",") if url]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None]:
    sys.meta_path.insert(0, _Refuses())
    services.start_caches_alone()
    configure_from_environment()
    return (yield)


pytest_unconfigure = services.pytest_unconfigure
