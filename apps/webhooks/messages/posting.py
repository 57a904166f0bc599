"""Posts a message to a server: only to public hosts, bounded in time, and without following redirects."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Event, Timer
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage

from apps.http.public_addresses import NotPublic, PublicHTTPSConnection
from apps.webhooks.models import Failure


class Reply(NamedTuple):
    """The result of an attempt. `status` is None without a response; `failure` is empty if the message was accepted."""

    status: int | None
    failure: str = ""


def post(address: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    """Post a message. Only the status of the response is read; every status except 2xx is a failure."""
    connection, is_late = _connection(address), Event()
    deadline = Timer(settings.WEBHOOK_TIMEOUT_SECONDS, _cut, [connection, is_late])
    deadline.start()
    try:
        path = urlsplit(address)._replace(scheme="", netloc="", fragment="").geturl()
        connection.connect()
        if is_late.is_set():  # before there was a socket for `_cut` to end
            raise TimeoutError
        connection.request("POST", path or "/", body, headers)
        status = connection.getresponse().status
    except (OSError, HTTPException, UnicodeError) as error:
        return Reply(None, Failure.TIMEOUT if is_late.is_set() else _failure_of(error))
    finally:
        deadline.cancel()
        connection.close()
    # http.client may take the end of the cut connection for the end of the headers
    if is_late.is_set():
        return Reply(None, Failure.TIMEOUT)
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
    return kind(host, parts.port, timeout=timeout)


def _cut(connection: HTTPConnection, is_late: Event) -> None:
    """End a connection whose time is up, even if bytes are still arriving."""
    is_late.set()
    # without a socket yet, connecting and the TLS handshake have their own timeouts, and `post` checks `is_late` then
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


@checks.register(checks.Tags.security)
def check_hosts(**_options: object) -> list[CheckMessage]:
    """Check that members of a public site cannot send requests into its own network."""
    if settings.PRODUCTION and settings.WEBHOOKS_ANYWHERE:
        hint = "Set WEBHOOKS_ANYWHERE=0."
        return [checks.Error("WEBHOOKS_ANYWHERE is on.", hint=hint, id="webhooks.E001")]
    return []
