"""The benchmark's own servers, with Django set up to use them. Everything is stopped at the end of the run."""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import django
from django.conf import settings

from runner.services import postgres
from runner.services.debian import find_memcached
from runner.services.group import Services, throwaway_services
from runner.services.memcached import TESTS, Layer, Memcached
from tools.tables import make_tables

SETTINGS = {
    "SECRET_KEY": "only-for-benchmarks",
    "DEBUG": "0",
    "PRODUCTION": "0",
    "ALLOWED_HOSTS": "testserver,localhost",
    "SITE_URL": "http://testserver",
    "SECURE_COOKIES": "0",
    "CACHE_TOPOLOGY_LISTENS": "0",  # a benchmark chooses the nodes itself, and keeps its own counts
    "STATICFILES_BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage",
    "DJANGO_SETTINGS_MODULE": "feedsite.settings",
}


_stores: list[tuple[str, int]] = []
_outer = dict(os.environ)
_own: set[str] = set()


def outer_environment() -> dict[str, str]:
    """The environment without the addresses of servers, for a site that starts its own."""
    others = {name: value for name, value in _outer.items() if name not in _own}
    return {**others, "FEEDSITE_VENV": sys.prefix}


def store_pids() -> dict[str, list[int]]:
    """The processes of PostgreSQL, Redis and Memcached, by program name."""
    found: dict[str, list[int]] = {}
    for name, pid in _stores:
        found.setdefault(name.split()[0], []).append(pid)
    return found


@contextmanager
def site_servers(
    layers: Sequence[Layer] = TESTS, *, forced_to_disk: bool = False
) -> Iterator[tuple[Services, Path]]:
    """PostgreSQL, Redis and Memcached layers in a temporary directory, with Django set up and the database migrated.

    `forced_to_disk`: PostgreSQL syncs commits to disk, as on a real site.
    """
    options = {} if forced_to_disk else postgres.THROWAWAY
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feedsite-bench-")))
        services = stack.enter_context(throwaway_services(directory, layers, options))
        _stores.extend(
            (service.name, service.child.pid) for service in services.all() if service.child
        )
        stack.callback(_stores.clear)
        places = {"MEDIA_ROOT": str(directory / "media"), "STATIC_ROOT": str(directory / "static")}
        own = {**SETTINGS, **places, **services.settings()}
        _own.update(own)
        os.environ.update(own)
        for place in places.values():
            Path(place).mkdir()
        django.setup()
        make_tables(os.environ["DATABASE_URL"])
        yield services, directory


@contextmanager
def memcached_nodes(directory: Path, labels: list[str]) -> Iterator[list[Memcached]]:
    """Additional Memcached nodes, stopped at the end."""
    program = find_memcached(directory / "memcached")
    if program is None:
        raise SystemExit("there is no memcached to measure; install it and run again")
    nodes = [Memcached(program, label, directory, directory / "log") for label in labels]
    with ExitStack() as stack:
        for node in nodes:
            node.start()
            stack.callback(node.stop)
        yield nodes


def memcached_addresses() -> list[str]:
    groups = [settings.MEMCACHED_URLS, settings.MEMCACHED_BACKUP_URLS, *settings.MEMCACHED_L1_URLS]
    return [address for group in groups for address in group]
