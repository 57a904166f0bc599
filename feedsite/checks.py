"""Checks of settings that Django accepts and a site should not run with.

`manage.py check` and `manage.py migrate` report them as any other check. The web server, the
streaming server, the workers and beat refuse to start: see `stop_if_refused`. PRODUCTION=0 is for
tests and for development.
"""

import re
import sys
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error

KEY_CHARACTERS, KEY_DISTINCT = 50, 10
# What placeholders in examples and generators begin with.
PLACEHOLDER = re.compile(r"replace|change|example|django-insecure|secret|your", re.IGNORECASE)
CLUSTER = "redis+cluster://"
ONE_SERVER = ("REDIS_COUNTERS_URL", "REDIS_CACHE_URL", "REDIS_BROADCAST_URL")
POOLERS = ("", "transaction")

Check = Callable[..., list[CheckMessage]]


def in_production(check: Callable[[], Iterator[CheckMessage]]) -> Check:
    """Register a check that runs only where PRODUCTION is on."""

    def run(**_options: object) -> list[CheckMessage]:
        return list(check()) if settings.PRODUCTION else []

    return checks.register(run, checks.Tags.security)


@in_production
def check_secret_keys() -> Iterator[CheckMessage]:
    """With the key anybody can forge sessions, tickets and signed URLs."""
    for name, key in (
        ("SECRET_KEY", settings.SECRET_KEY),
        *(("SECRET_KEY_FALLBACKS", key) for key in settings.SECRET_KEY_FALLBACKS),
    ):
        weak = len(key) < KEY_CHARACTERS or len(set(key)) < KEY_DISTINCT
        if weak or PLACEHOLDER.match(key):
            yield Error(
                f"{name} is short or a placeholder: whoever guesses it can log in as anybody.",
                hint='Make one: python -c "import secrets; print(secrets.token_urlsafe(50))"',
                id="feedsite.E001",
            )


@in_production
def check_debug() -> Iterator[CheckMessage]:
    """DEBUG's error pages show settings and code."""
    if settings.DEBUG:
        yield Error("DEBUG is on.", hint="Set DEBUG=0.", id="feedsite.E002")


@in_production
def check_hosts() -> Iterator[CheckMessage]:
    """The Host header of any visitor would be trusted."""
    if "*" in settings.ALLOWED_HOSTS:
        yield Error(
            "ALLOWED_HOSTS has '*': the site would answer to any name.",
            hint="Name the hosts, such as ALLOWED_HOSTS=feed.example.org",
            id="feedsite.E003",
        )


@in_production
def check_https() -> Iterator[CheckMessage]:
    """Sessions and tokens must travel under TLS."""
    if not (settings.SESSION_COOKIE_SECURE and settings.CSRF_COOKIE_SECURE):
        yield Error(
            "Cookies would be sent without TLS.", hint="Set SECURE_COOKIES=1.", id="feedsite.E004"
        )
    if urlsplit(settings.SITE_URL).scheme != "https":
        yield Error(
            f"SITE_URL is {settings.SITE_URL}: with secure cookies nobody could log in there.",
            hint="SITE_URL is what people type, such as https://feed.example.org",
            id="feedsite.E005",
        )


@in_production
def check_database_password() -> Iterator[CheckMessage]:
    """The password of .env.example is public."""
    password = settings.DATABASES["default"].get("PASSWORD") or ""
    if PLACEHOLDER.match(password):
        yield Error(
            "The password in DATABASE_URL is a placeholder.",
            hint="Choose one, and set POSTGRES_PASSWORD to the same.",
            id="feedsite.E006",
        )


@checks.register(checks.Tags.security)
def check_tls_settings(**_options: object) -> list[CheckMessage]:
    """Settings that only work together, in production or not."""
    messages: list[CheckMessage] = []
    if urlsplit(settings.SITE_URL).scheme != "https":
        messages += [
            Error(
                f"{name} is set, but SITE_URL is {settings.SITE_URL}.",
                hint="Visitors would be sent away from the site's own address.",
                id="feedsite.E007",
            )
            for name in ("SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS")
            if getattr(settings, name)
        ]
    header = settings.SECURE_PROXY_SSL_HEADER
    if header and (len(header) != 2 or not header[0].startswith("HTTP_")):
        messages.append(
            Error(
                "SECURE_PROXY_SSL_HEADER is a header as WSGI spells it, and its value.",
                hint="SECURE_PROXY_SSL_HEADER=HTTP_X_FORWARDED_PROTO,https",
                id="feedsite.E008",
            )
        )
    if settings.SECURE_SSL_REDIRECT and not header:
        messages.append(
            checks.Warning(
                "SECURE_SSL_REDIRECT is on without SECURE_PROXY_SSL_HEADER.",
                hint="Behind a proxy that ends TLS every request looks plain, and is redirected for ever.",
                id="feedsite.W001",
            )
        )
    return messages


@checks.register(checks.Tags.database, checks.Tags.caches)
def check_servers(**_options: object) -> list[CheckMessage]:
    """URLs and names that would otherwise only fail at first use."""
    messages: list[CheckMessage] = [
        Error(f"{name} has to be one server, not a cluster.", id="feedsite.E009")
        for name in ONE_SERVER
        if getattr(settings, name).startswith(CLUSTER)
    ]
    if settings.DATABASE_POOLER not in POOLERS:
        messages.append(
            Error(
                f"DATABASE_POOLER is {settings.DATABASE_POOLER!r}; only 'transaction' is known.",
                hint="Leave it empty for PostgreSQL itself and for poolers in session mode.",
                id="feedsite.E010",
            )
        )
    return messages


def stop_if_refused() -> None:
    """Exit when a check reports an error: only Django's own commands run checks by themselves.

    Runs the checks of this project's apps; Django's checks of models and URLs depend on the code
    alone.
    """
    errors = [message for message in _messages() if message.is_serious()]
    if not errors:
        return
    lines = "\n".join(str(message) for message in errors)
    sys.stderr.write(f"feedsite does not start with these settings:\n{lines}\n")
    sys.stderr.write("PRODUCTION=0 is for tests and for one's own machine.\n")
    sys.stderr.flush()
    raise SystemExit(1)


def _messages() -> Iterator[CheckMessage]:
    for check in checks.registry.registry.get_checks():
        if check.__module__.startswith(("feedsite.", "apps.")):
            yield from check(app_configs=None, databases=None)
