"""The environment of the site's processes: the same variables as in production, see .env.example."""

import os
import socket
from collections.abc import Mapping

from runner.checkout import ROOT
from runner.datadir import DataDir
from runner.ports import WILDCARDS, site_address
from runner.terminal import LaunchError

# The settings that `manage` takes over from a running site.
SITE_SETTINGS = (
    "DATABASE_URL", "REDIS_URL", "REDIS_GRAPH_URL", "REDIS_GRAPH_REPLICA_URLS", "REDIS_TIMELINES_REPLICA_URLS",
    "REDIS_COUNTERS_URL", "REDIS_EXISTENCE_URL", "REDIS_LIMITS_URL",
    "REDIS_CACHE_URL", "REDIS_BROADCAST_URL", "CELERY_BROKER_URL", "MEMCACHED_URLS", "MEMCACHED_BACKUP_URLS",
    "MEMCACHED_L1_URLS",
    "MEMCACHED_MAIN_MEGABYTES", "MEMCACHED_BACKUP_MEGABYTES", "MEMCACHED_L1_MEGABYTES",
    "SECRET_KEY", "PAGE_SIGNING_KEY", "VAPID_PRIVATE_KEY", "ALLOWED_HOSTS", "SITE_URL", "STREAMING_URL", "MEDIA_ROOT",
    "STATIC_ROOT", "SECURE_COOKIES", "DEBUG", "PRODUCTION",
    "STAFF_SECOND_FACTOR", "STATICFILES_BACKEND", "DATABASE_POOLER", "MIGRATIONS_DATABASE_URL", "GAMEDAY",
    "METRICS_TOKEN",
)  # fmt: skip
# Settings of the web server and of libpq that a shell may contain for other purposes.
WEB_SERVER_PREFIX = "GRANIAN_"
LIBPQ_PREFIX = "PG"
# Compressing the API reference's scripts takes half a minute, and is useless on a loopback connection.
UNCOMPRESSED = "feedsite.files.staticfiles.UncompressedStorage"
ADDRESSES = (
    "DATABASE_URL",
    "REDIS_URL",
    "REDIS_GRAPH_URL",
    "REDIS_COUNTERS_URL",
    "REDIS_EXISTENCE_URL",
    "REDIS_LIMITS_URL",
    "REDIS_CACHE_URL",
    "REDIS_BROADCAST_URL",
    "CELERY_BROKER_URL",
)


def site_environment(
    data: DataDir,
    services: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    streaming_port: int | None = None,
) -> dict[str, str]:
    """All variables for Django, Celery and the web server; the caller's environment has precedence.

    `services` are the settings of the servers that the launcher runs.
    """
    defaults = {
        "SITE_URL": site_address(host, port),
        "STREAMING_URL": site_address(host, streaming_port or port),
        "ALLOWED_HOSTS": allowed_hosts(host),
        "MEDIA_ROOT": str(data.media),
        "STATIC_ROOT": str(data.static),
        "SECURE_COOKIES": "0",
        "DEBUG": "0",
        "PRODUCTION": "0",
        "STATICFILES_BACKEND": UNCOMPRESSED,
    }
    environment = {**defaults, **services, **_inherited()}
    if "CELERY_BROKER_URL" not in environment:
        environment["CELERY_BROKER_URL"] = _broker_of(environment["REDIS_URL"])
    secrets = {
        "SECRET_KEY": data.secret_key,
        "PAGE_SIGNING_KEY": data.page_signing_key,
        "VAPID_PRIVATE_KEY": data.vapid_private_key,
    }
    for name, make in secrets.items():
        if not environment.get(name) and not environment.get(f"{name}_FILE"):
            environment[name] = make()
    return _with_python(environment)


def joined_environment(saved: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command that joins a running site; the caller's own has precedence."""
    return _with_python({**saved, **_inherited()})


def to_save(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of a site's environment that a joining command needs."""
    return {name: environment[name] for name in SITE_SETTINGS if name in environment}


def allowed_hosts(host: str) -> str:
    """The default ALLOWED_HOSTS; a wildcard address allows any host."""
    if host in WILDCARDS:
        return "*"
    names = [
        "127.0.0.1",
        "localhost",
        "[::1]",
        socket.gethostname(),
        f"[{host}]" if ":" in host else host,
    ]
    return ",".join(dict.fromkeys(names))


def _inherited() -> dict[str, str]:
    """The caller's environment without empty server URLs and without variables that are meant for other programs."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(WEB_SERVER_PREFIX) and (value or name not in ADDRESSES)
    }
    if "DATABASE_URL" in environment:
        return environment
    return {name: value for name, value in environment.items() if not name.startswith(LIBPQ_PREFIX)}


def _broker_of(redis_url: str) -> str:
    """The default broker if REDIS_URL is given by the caller."""
    if redis_url.startswith(("redis://", "rediss://")):
        return redis_url
    raise LaunchError("REDIS_URL is set but CELERY_BROKER_URL is not; set both.")


def _with_python(environment: dict[str, str]) -> dict[str, str]:
    environment.pop("PYTHONHOME", None)
    return environment | {
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "feedsite.settings",
    }
