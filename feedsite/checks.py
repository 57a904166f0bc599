"""Checks for settings that Django accepts, but that no site should run with.

`manage.py check` and `manage.py migrate` report them like all other checks. The web server, the streaming server, the
workers and beat refuse to start if one reports an error: see `stop_if_refused`. Checks that are `in_production` are
skipped with PRODUCTION=0, which is for tests and development.
"""

import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error
from django.db import DEFAULT_DB_ALIAS, connections

from apps.audit.own_page.signing import signing_key
from apps.media.confine import missing
from apps.media.video import is_available
from feedcache.redis_clients import CLUSTERS, SENTINELS, TLS, nodes_of, sentinel_parts
from feedcache.servers.tls import handshake_error, tls_context

KEY_CHARACTERS, KEY_DISTINCT = 50, 10
TOKEN_CHARACTERS = 32
# Placeholder keys and passwords, from example files or `django-admin startproject`, begin with these.
PLACEHOLDER = re.compile(r"replace|change|example|django-insecure|secret|your", re.IGNORECASE)
ONE_SERVER = {
    "REDIS_COUNTERS_URL": "To use several servers, move ranges of the counters with `manage counters move`.",
    "CELERY_BROKER_URL": "One Redis, one behind Sentinels (sentinel://), or RabbitMQ (amqp://).",
}
REPLICAS = {
    "REDIS_GRAPH_REPLICA_URLS": "REDIS_GRAPH_URL",
    "REDIS_TIMELINES_REPLICA_URLS": "REDIS_URL",
}
REDIS_ROLES = (
    "REDIS_URL",
    "REDIS_GRAPH_URL",
    "REDIS_EXISTENCE_URL",
    "REDIS_LIMITS_URL",
    "REDIS_COUNTERS_URL",
    "REDIS_CACHE_URL",
    "REDIS_BROADCAST_URL",
)
# With CELERY_BROKER_TLS, `amqp` and `redis` use TLS, too.
BROKER_PORTS = {"redis": 6379, "rediss": 6379, "sentinel": 26379, "amqp": 5671, "amqps": 5671}
POOLERS = ("", "transaction")
LOG_FORMATS = ("line", "json")
CONNECTION = ("host", "port", "user", "password", "dbname")  # parameters of PostgreSQL's URLs
CONNECT_SECONDS = 2

Check = Callable[..., list[CheckMessage]]


def in_production(check: Callable[[], Iterator[CheckMessage]]) -> Check:
    """Register a check that runs only with PRODUCTION=1."""

    def run(**_options: object) -> list[CheckMessage]:
        return list(check()) if settings.PRODUCTION else []

    return checks.register(run, checks.Tags.security)


@in_production
def check_secret_keys() -> Iterator[CheckMessage]:
    """Refuse weak keys: anybody who guesses a key can forge the links and tickets that it signs."""
    for name, key in (
        ("SECRET_KEY", settings.SECRET_KEY),
        *(("SECRET_KEY_FALLBACKS", key) for key in settings.SECRET_KEY_FALLBACKS),
    ):
        weak = len(key) < KEY_CHARACTERS or len(set(key)) < KEY_DISTINCT
        if weak or PLACEHOLDER.match(key):
            yield Error(
                f"{name} is short or a placeholder: anybody who guesses it can log in as any user.",
                hint='Make one: python -c "import secrets; print(secrets.token_urlsafe(50))"',
                id="feedsite.E001",
            )


@in_production
def check_debug() -> Iterator[CheckMessage]:
    """Refuse DEBUG, because its error pages show settings and code."""
    if settings.DEBUG:
        yield Error("DEBUG is on.", hint="Set DEBUG=0.", id="feedsite.E002")


@in_production
def check_hosts() -> Iterator[CheckMessage]:
    """Refuse '*', with which Django trusts the Host header of any request."""
    if "*" in settings.ALLOWED_HOSTS:
        yield Error(
            "ALLOWED_HOSTS contains '*': the site would accept any Host header.",
            hint="Name the hosts, such as ALLOWED_HOSTS=feed.example.org",
            id="feedsite.E003",
        )


@in_production
def check_https() -> Iterator[CheckMessage]:
    """Require HTTPS, because sessions and tokens must be sent only over TLS."""
    if not (settings.SESSION_COOKIE_SECURE and settings.CSRF_COOKIE_SECURE):
        yield Error(
            "Cookies would be sent without TLS.", hint="Set SECURE_COOKIES=1.", id="feedsite.E004"
        )
    if urlsplit(settings.SITE_URL).scheme != "https":
        yield Error(
            f"SITE_URL is {settings.SITE_URL}: with secure cookies nobody could log in there.",
            hint="SITE_URL is the address that people type, such as https://feed.example.org",
            id="feedsite.E005",
        )


@in_production
def check_proxy() -> Iterator[CheckMessage]:
    """Check the settings for a proxy: without TRUSTED_PROXY_HOPS, all visitors share the rate limits of its address."""
    if settings.SECURE_PROXY_SSL_HEADER and settings.TRUSTED_PROXY_HOPS < 1:
        yield Error(
            "SECURE_PROXY_SSL_HEADER is set, so there is a proxy, but TRUSTED_PROXY_HOPS is 0.",
            hint="Set TRUSTED_PROXY_HOPS=1. Otherwise thirty wrong passwords from a visitor block everybody's logins.",
            id="feedsite.E026",
        )
    if not settings.SECURE_SSL_REDIRECT:
        yield checks.Warning(
            "SECURE_SSL_REDIRECT is off: requests without TLS are answered without TLS.",
            hint="Set SECURE_SSL_REDIRECT=1, unless only the proxy can reach the site, and it redirects.",
            id="feedsite.W006",
        )


@in_production
def check_staff() -> Iterator[CheckMessage]:
    """Warn if staff need no second factor, because a password alone can be phished."""
    if not settings.STAFF_SECOND_FACTOR:
        yield checks.Warning(
            "STAFF_SECOND_FACTOR is off: a password is enough for the admin.",
            hint="Remove the setting. Staff then set up a second factor when they log in.",
            id="feedsite.W007",
        )


@in_production
def check_database_password() -> Iterator[CheckMessage]:
    """Refuse placeholders, because the password in .env.example is publicly known."""
    password = settings.DATABASES["default"].get("PASSWORD") or ""
    if PLACEHOLDER.match(password):
        yield Error(
            "The password in DATABASE_URL is a placeholder.",
            hint="Choose one, and set POSTGRES_PASSWORD to the same.",
            id="feedsite.E006",
        )


@checks.register(checks.Tags.security)
def check_tls_settings(**_options: object) -> list[CheckMessage]:
    """Check, also outside production, settings that work only together."""
    messages: list[CheckMessage] = []
    if urlsplit(settings.SITE_URL).scheme != "https":
        messages += [
            Error(
                f"{name} is set, but SITE_URL is {settings.SITE_URL}.",
                hint="Visitors would be redirected to an address that is not the site's.",
                id="feedsite.E007",
            )
            for name in ("SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS")
            if getattr(settings, name)
        ]
    header = settings.SECURE_PROXY_SSL_HEADER
    if header and (len(header) != 2 or not header[0].startswith("HTTP_")):
        messages.append(
            Error(
                "SECURE_PROXY_SSL_HEADER must be a header in WSGI's spelling, and its value.",
                hint="SECURE_PROXY_SSL_HEADER=HTTP_X_FORWARDED_PROTO,https",
                id="feedsite.E008",
            )
        )
    if settings.SECURE_SSL_REDIRECT and not header:
        messages.append(
            checks.Warning(
                "SECURE_SSL_REDIRECT is on without SECURE_PROXY_SSL_HEADER.",
                hint="Behind a proxy that ends TLS, every request looks like plain HTTP, and is redirected for ever.",
                id="feedsite.W001",
            )
        )
    return messages


@checks.register(checks.Tags.database, checks.Tags.caches)
def check_servers(**_options: object) -> list[CheckMessage]:
    """Check URLs and names that would otherwise fail only at their first use."""
    messages = list(_wrong_with_redis())
    messages += [
        Error(
            f"TIMELINE_SHARDS names {alias!r}, which is not a separate database.",
            hint="Use 'default', and 'shard1', 'shard2', ... in the order of TIMELINE_SHARD_URLS, but no replicas.",
            id="feedsite.E015",
        )
        for alias in settings.TIMELINE_SHARDS
        if alias not in settings.DATABASES or alias in settings.REPLICA_DATABASES
    ]
    if settings.TIMELINE_SHARDS == ["default"]:
        messages.append(
            checks.Warning(
                "TIMELINE_SHARDS names 'default' alone: every post would be copied within its own database.",
                hint="Leave it empty, or name other databases too.",
                id="feedsite.W008",
            )
        )
    is_rabbitmq = settings.CELERY_BROKER_URL.startswith("amqp")
    if settings.CELERY_BROKER_QUEUE_TYPE not in (
        ("classic", "quorum") if is_rabbitmq else ("classic",)
    ):
        messages.append(
            Error(
                f"CELERY_BROKER_QUEUE_TYPE is {settings.CELERY_BROKER_QUEUE_TYPE!r}.",
                hint="Use 'quorum' or 'classic' with RabbitMQ, and only 'classic' with Redis.",
                id="feedsite.E017",
            )
        )
    if settings.CELERY_BROKER_URL.startswith("sentinel") and not settings.CELERY_BROKER_MASTER:
        messages.append(
            Error(
                "CELERY_BROKER_MASTER is missing: Sentinels need the name of the primary.",
                id="feedsite.E018",
            )
        )
    places = [_place(settings.DATABASES[alias]) for alias in settings.REPLICA_DATABASES]
    if len({_place(settings.DATABASES["default"]), *places}) <= len(places):
        messages.append(
            Error(
                "REPLICA_DATABASE_URLS names a server twice, or the server in DATABASE_URL.",
                hint="Name each replica by its own address, not by that of a load balancer in front of several.",
                id="feedsite.E016",
            )
        )
    if settings.DATABASE_POOLER not in POOLERS:
        messages.append(
            Error(
                f"DATABASE_POOLER is {settings.DATABASE_POOLER!r}; only 'transaction' is known.",
                hint="Leave it empty for PostgreSQL itself and for poolers in session mode.",
                id="feedsite.E010",
            )
        )
    return messages


def _wrong_with_redis() -> Iterator[CheckMessage]:
    for name, hint in ONE_SERVER.items():
        if getattr(settings, name).startswith(CLUSTERS):
            text = f"{name} has to be one server, not a cluster."
            yield Error(text, hint=hint, id="feedsite.E009")
    for name, primary in REPLICAS.items():
        if any(url.startswith(CLUSTERS) for url in getattr(settings, name)):
            hint = f"If {primary} names a cluster, leave this empty: replicas of a cluster are not used."
            yield Error(f"{name} names a cluster.", hint=hint, id="feedsite.E025")
    for name in REDIS_ROLES:
        if getattr(settings, name).startswith(SENTINELS):
            try:
                sentinel_parts(getattr(settings, name))
            except ValueError as error:
                yield Error(f"{name}: {error}.", id="feedsite.E019")


@checks.register(checks.Tags.database, checks.Tags.caches)
def check_tls_to_servers(**_options: object) -> list[CheckMessage]:
    """Find unusable TLS files, and the first of Redis, broker and PostgreSQL with which TLS fails.

    Servers that are down are skipped. Replicas and Cassandra are not contacted.
    """
    return list(_wrong_with_tls())


def _wrong_with_tls() -> Iterator[CheckMessage]:
    hint = "Check CA_FILE, CERT_FILE and KEY_FILE of REDIS, CELERY_BROKER, CASSANDRA; sslrootcert in DATABASE_URL."
    broken = set()
    for servers, files in {
        "REDIS": settings.REDIS_TLS_FILES,
        "CELERY_BROKER": settings.CELERY_BROKER_TLS_FILES,
        "CASSANDRA": settings.CASSANDRA_TLS_FILES,
    }.items():
        try:
            tls_context(files)
        except OSError as error:
            broken.add(servers)
            text = f"The files for TLS to {servers} cannot be used: {error}."
            yield Error(text, hint=hint, id="feedsite.E023")
    for name, (host, port), files in _nodes_with_tls(broken):
        if reason := handshake_error(host, port, files):
            text = f"{name}: no TLS with {host}:{port}: {reason}"
            yield Error(text, hint=hint, id="feedsite.E024")
            return  # most sites have one CA for all: the other servers would fail in the same way
    if reason := _refused_by_postgresql(settings.DATABASES["default"].get("OPTIONS", {})):
        yield Error(f"DATABASE_URL: no TLS: {reason}", hint=hint, id="feedsite.E024")


def _nodes_with_tls(broken: set[str]) -> Iterator[tuple[str, tuple[str, int], dict[str, str]]]:
    """The Redis servers and brokers with TLS: the setting that names each, its address, and the TLS files for it."""
    if "REDIS" not in broken:
        for name in REDIS_ROLES:
            url = getattr(settings, name)
            if url.startswith(TLS):
                yield from ((name, node, settings.REDIS_TLS_FILES) for node in nodes_of(url))
    if settings.CELERY_BROKER_TLS and "CELERY_BROKER" not in broken:
        for url in settings.CELERY_BROKER_URL.split(";"):
            parts = urlsplit(url)
            port = parts.port or BROKER_PORTS[parts.scheme]
            files = settings.CELERY_BROKER_TLS_FILES
            yield "CELERY_BROKER_URL", (parts.hostname or "localhost", port), files


def _refused_by_postgresql(options: Mapping[str, Any]) -> str:
    if options.get("sslmode") not in ("require", "verify-ca", "verify-full"):
        return ""
    params = connections[DEFAULT_DB_ALIAS].get_connection_params()
    wanted = {
        name: value
        for name, value in params.items()
        if value and (name in CONNECTION or name.startswith("ssl"))
    }
    try:
        psycopg.connect(**wanted, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError as error:
        text = str(error).strip()
        return text if re.search("SSL|certificate", text) else ""
    return ""


@checks.register(checks.Tags.security)
def check_page_signing_key(**_options: object) -> list[CheckMessage]:
    """Check the page signing key, because a malformed key would fail only when a reader downloads a page."""
    try:
        signing_key()
    except ValueError:
        hint = 'Make one: python -c "import base64, secrets; print(base64.b64encode(secrets.token_bytes(32)).decode())"'
        return [Error("PAGE_SIGNING_KEY is not 32 bytes in base64.", hint=hint, id="feedsite.E020")]
    return []


@in_production
def check_metrics_in_production() -> Iterator[CheckMessage]:
    """Refuse a token that can be guessed and a network with all addresses: both open /metrics to everybody."""
    token = settings.METRICS_TOKEN
    if token and (len(token) < TOKEN_CHARACTERS or PLACEHOLDER.match(token)):
        yield Error(
            "METRICS_TOKEN is short or a placeholder: anybody who guesses it can read /metrics.",
            hint='Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"',
            id="feedsite.E011",
        )
    networks = [_network(text) for text in settings.METRICS_ADDRESSES]
    if any(network is not None and network.prefixlen == 0 for network in networks):
        yield Error(
            "METRICS_ADDRESSES contains every address: anybody could read /metrics.",
            hint="Name the addresses of Prometheus, such as METRICS_ADDRESSES=10.0.0.7",
            id="feedsite.E012",
        )


@checks.register(checks.Tags.security)
def check_metrics(**_options: object) -> list[CheckMessage]:
    """Check METRICS_ADDRESSES, because malformed addresses would fail only at the first request."""
    return [
        Error(
            f"METRICS_ADDRESSES: {text!r} is neither an address nor a network.",
            hint="METRICS_ADDRESSES=10.0.0.7,10.1.0.0/24",
            id="feedsite.E013",
        )
        for text in settings.METRICS_ADDRESSES
        if _network(text) is None
    ]


@checks.register
def check_traces(**_options: object) -> list[CheckMessage]:
    """Require OpenTelemetry if traces are on. Otherwise every process would end with an ImportError."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT or find_spec("opentelemetry"):
        return []
    return [
        Error(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and OpenTelemetry is not installed.",
            hint="pip install --require-hashes -r requirements-otel.txt, or leave the setting out.",
            id="feedsite.E030",
        )
    ]


@checks.register
def check_media(**_options: object) -> list[CheckMessage]:
    """Check MEDIA_ACCEL_URL, because with a wrong one every picture would be missing."""
    url = settings.MEDIA_ACCEL_URL
    if not url or (url.startswith("/") and url.endswith("/") and not settings.MEDIA_BUCKET):
        return []
    return [
        Error(
            "MEDIA_ACCEL_URL is set, and the files are in MEDIA_BUCKET, where the proxy cannot read them."
            if settings.MEDIA_BUCKET
            else f"MEDIA_ACCEL_URL is {url!r}; it begins and ends with a slash.",
            hint="MEDIA_ACCEL_URL=/_media/, as in deploy/nginx.conf; empty: the site sends the files itself.",
            id="feedsite.E034",
        )
    ]


@checks.register
def check_objectives(**_options: object) -> list[CheckMessage]:
    """Check the objectives: availability 1 leaves no error budget to divide by; with a low one, no alert can fire."""
    return [
        Error(
            f"{name} is {getattr(settings, name)}.",
            hint="A share from 0.95 to below 1, such as 0.999. Below 0.93 not even a site that is down would page."
            if most == 1
            else "Seconds, at least 0.001.",
            id="feedsite.E029",
        )
        for name, least, most in (
            ("SLO_AVAILABILITY", 0.95, 1.0),
            ("SLO_HOME_SECONDS", 0.001, math.inf),
            ("SLO_DELIVERY_SECONDS", 0.001, math.inf),
        )
        if not least <= getattr(settings, name) < most
    ]


@checks.register
def check_logs(**_options: object) -> list[CheckMessage]:
    """Refuse an unknown format, which would silently be 'line', and a file that cannot be written."""
    messages: list[CheckMessage] = []
    if settings.LOG_FORMAT not in LOG_FORMATS:
        messages.append(
            Error(
                f"LOG_FORMAT is {settings.LOG_FORMAT!r}.",
                hint=f"Use one of {', '.join(LOG_FORMATS)}.",
                id="feedsite.E027",
            )
        )
    if settings.LOG_FILE:
        file = Path(settings.LOG_FILE)
        if not os.access(file if file.exists() else file.parent, os.W_OK) or file.is_dir():
            messages.append(
                Error(
                    f"LOG_FILE={file} cannot be written.",
                    hint="Remove it to log to standard error, or create its folder, writable for the site's user.",
                    id="feedsite.E028",
                )
            )
    return messages


@checks.register(checks.Tags.database)
def check_seats(**_options: object) -> list[CheckMessage]:
    """Check the numbers of seats: each class needs one, and each request with a seat needs a database connection."""
    messages: list[CheckMessage] = [
        Error(
            f"WEB_CONCURRENCY of {name} is {number}: no request would ever be served.",
            hint="Give each of WEB_CONCURRENCY, WEB_WRITES_CONCURRENCY and WEB_REST_CONCURRENCY at least 1.",
            id="feedsite.E014",
        )
        for name, number in settings.WEB_CONCURRENCY.items()
        if number < 1
    ]
    seats = sum(settings.WEB_CONCURRENCY.values())
    connections = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    if seats > connections:
        messages.append(
            checks.Warning(
                f"A web process serves {seats} requests at the same time with {connections} database connections.",
                hint="Raise DATABASE_POOL_MAX. Otherwise a flood of one class takes the connections of the others.",
                id="feedsite.W003",
            )
        )
    return messages


def _place(database: Mapping[str, Any]) -> tuple[str, str, str]:
    """The server, port and name of a database."""
    host = database.get("HOST") or database.get("OPTIONS", {}).get("host", "")
    return str(host), str(database.get("PORT") or ""), str(database.get("NAME"))


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None


@checks.register
def check_ffmpeg(**_options: object) -> list[CheckMessage]:
    """Warn if ffmpeg is missing, because uploads of video and sound are then refused."""
    if is_available():
        return []
    return [
        checks.Warning(
            f"{settings.FFMPEG or 'ffmpeg'} is not installed: video and sound are refused.",
            hint="pip install imageio-ffmpeg, or on Debian: apt-get install ffmpeg. FFMPEG can name the program.",
            id="feedsite.W002",
        )
    ]


@in_production
def check_confinement() -> Iterator[CheckMessage]:
    """Warn if the kernel cannot confine ffmpeg: an exploited decoder would have the worker's rights."""
    if is_available() and (lacking := missing()):
        yield checks.Warning(
            f"ffmpeg runs without {' and '.join(lacking)}: a harmful video could do what a worker can.",
            hint="Linux 5.13 or later on x86-64 or ARM has both. Or run the queue `media` on a separate machine.",
            id="feedsite.W005",
        )


def stop_if_refused() -> None:
    """Exit if a check reports an error. Outside Django's own commands, nothing else runs the checks.

    Runs only the checks of this project's apps; Django's checks of models and URLs depend only on the code.
    """
    errors = [message for message in _messages() if message.is_serious()]
    if not errors:
        return
    lines = "\n".join(str(message) for message in errors)
    sys.stderr.write(f"feedsite does not start with these settings:\n{lines}\n")
    sys.stderr.write("PRODUCTION=0 is for tests and development.\n")
    sys.stderr.flush()
    raise SystemExit(1)


def _messages() -> Iterator[CheckMessage]:
    for check in checks.registry.registry.get_checks():
        if check.__module__.startswith(("feedsite.", "apps.")):
            yield from check(app_configs=None, databases=None)
