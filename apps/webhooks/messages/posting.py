"""Posts a message to a server: only to public hosts, bounded in time, and without following redirects."""

import ssl
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage

from apps.http.public_addresses import NotPublic, PublicHTTPSConnection, post_within
from apps.webhooks.models import Failure


class Reply(NamedTuple):
    """The result of an attempt. `status` is None without a response; `failure` is empty if the message was accepted."""

    status: int | None
    failure: str = ""


def post(address: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    """Post a message. Only the status of the response is read; every status except 2xx is a failure."""
    seconds = settings.WEBHOOK_TIMEOUT_SECONDS
    try:
        status = post_within(seconds, _connection(address), address, body, headers)
    except (OSError, HTTPException, UnicodeError) as error:
        return Reply(None, _failure_of(error))
    is_accepted = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    return Reply(status, "" if is_accepted else Failure.STATUS)


def _failure_of(error: Exception) -> Failure:
    if isinstance(error, NotPublic):
        return Failure.NOT_PUBLIC
    if isinstance(error, ssl.SSLCertVerificationError):
        return Failure.CERTIFICATE
    return Failure.TIMEOUT if isinstance(error, TimeoutError) else Failure.UNREACHABLE


def _connection(address: str) -> HTTPConnection:
    """A connection to a public host over https. With WEBHOOKS_ANYWHERE, it may be to any host, and without TLS."""
    parts, timeout = urlsplit(address), settings.WEBHOOK_TIMEOUT_SECONDS
    host = parts.hostname or ""
    if not settings.WEBHOOKS_ANYWHERE:
        return PublicHTTPSConnection(host, parts.port, timeout=timeout)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    # without a port, `http.client` would take the end of an IPv6 address for one
    return kind(host, parts.port or kind.default_port, timeout=timeout)


@checks.register(checks.Tags.security)
def check_hosts(**_options: object) -> list[CheckMessage]:
    """Check that members of a public site cannot send requests into its own network."""
    if settings.PRODUCTION and settings.WEBHOOKS_ANYWHERE:
        hint = "Set WEBHOOKS_ANYWHERE=0."
        return [checks.Error("WEBHOOKS_ANYWHERE is on.", hint=hint, id="webhooks.E001")]
    return []
