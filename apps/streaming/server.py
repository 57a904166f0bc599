"""The ASGI application of the streaming process: authenticates, then serves SSE or WebSockets."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import orjson

from apps.accounts.models import User
from apps.errors import BadRequest, DomainError, NotAllowed, NotFound, TooMany, Unavailable
from apps.http.errors import problem_json
from apps.streaming import resuming, transports
from apps.streaming.connections import Connection
from apps.streaming.hub import Hub
from apps.streaming.queries import listener_of
from apps.streaming.resuming import Position
from apps.streaming.streams import NAMES, Stream, StreamError
from apps.streaming.transports import Receive, Send
from apps.throttling import check_rate_limit

ROOT = "/api/v1/streaming"
TOKEN_MAX_CHARACTERS = 200
QUERY_MAX_BYTES = 2048
COMMON_HEADERS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-headers", b"Authorization, Cache-Control, Last-Event-ID"),
    (b"access-control-allow-methods", b"GET, OPTIONS"),
    (b"cache-control", b"private, no-store"),
    (b"x-content-type-options", b"nosniff"),
]

Scope = Mapping[str, Any]


class InvalidTokenError(DomainError):
    """The token is missing or invalid."""

    code, status = "unauthorized", HTTPStatus.UNAUTHORIZED

    def __init__(self) -> None:
        super().__init__("The access token is missing or invalid.")


class MethodNotAllowedError(DomainError):
    code, status = "method_not_allowed", HTTPStatus.METHOD_NOT_ALLOWED


class Server:
    """The application. Its hub starts with the server, or with the first request if there are no lifespan events."""

    def __init__(self) -> None:
        self.hub = Hub()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        self.hub.start()
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                self.hub.start()
            else:
                await self.hub.stop()
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")
        if scope["method"] == "OPTIONS":
            await _answer(send, HTTPStatus.NO_CONTENT, b"", b"text/plain")
        elif scope["method"] != "GET":
            await _refuse(scope, send, MethodNotAllowedError("Only GET is allowed here."))
        elif path == f"{ROOT}/health":
            await self._health(send)
        else:
            await self._sse(scope, receive, send)

    async def _health(self, send: Send) -> None:
        if await self.hub.is_subscribed():
            await _answer(send, HTTPStatus.OK, b"OK", b"text/plain")
        else:
            await _answer(send, HTTPStatus.SERVICE_UNAVAILABLE, b"not subscribed", b"text/plain")

    async def _sse(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            query = _query(scope)
            stream = _stream(scope["path"], query)
            position = _position(scope, query)
            connection = await self._join(_token(scope, query))
        except DomainError as refusal:
            await _refuse(scope, send, refusal)
            return
        try:
            connection.add(stream, stream.labels_of(query))
            if position is not None:
                subject = str(connection.listener_id)
                await self.hub.run_in_thread(check_rate_limit, "resume", subject)
            # after subscribing, so that posts published while `begin` reads are announced to the connection
            position, missed = await resuming.begin(self.hub, connection, stream, position)
            await transports.serve_sse(
                connection, receive, send, COMMON_HEADERS, position=position, missed=missed
            )
        except (NotAllowed, TooMany) as refusal:  # before the response has begun
            await _refuse(scope, send, refusal)
        finally:
            self.hub.leave(connection)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        protocol = next(iter(scope.get("subprotocols") or ()), None)
        try:
            if scope["path"].rstrip("/") != ROOT:
                raise NotFound("There is no such stream.")
            query = _query(scope)
            # Mastodon's web client sends the token as a subprotocol, because scripts cannot set headers on WebSockets
            connection = await self._join(_token(scope, query) or protocol or "")
        except DomainError:
            await send({"type": "websocket.close", "code": transports.POLICY})
            return
        try:
            if "stream" in query:
                stream = Stream.parse(query["stream"], query)
                connection.add(stream, stream.labels_of(query))
            await transports.serve_websocket(connection, receive, send, protocol=protocol)
        except (StreamError, NotAllowed):
            await send({"type": "websocket.close", "code": transports.POLICY})
        finally:
            self.hub.leave(connection)

    async def _join(self, token: str) -> Connection:
        """Register a connection for the user of a token; the caller must remove it with `hub.leave`.

        After an error, nothing is registered. Raises InvalidTokenError, TooMany or Unavailable.
        """
        listener, scopes = await self._authenticate(token)
        connection = await self.hub.join(listener, token, scopes)
        try:
            # the token may have been revoked before the connection was registered in the hub
            await self._authenticate(token)
        except BaseException:
            self.hub.leave(connection)
            raise
        return connection

    async def _authenticate(self, token: str) -> tuple[User, frozenset[str]]:
        """The user behind a token, and its scopes. Raises InvalidTokenError."""
        is_plausible = 0 < len(token) <= TOKEN_MAX_CHARACTERS
        bearer = await self.hub.run_in_thread(listener_of, token) if is_plausible else None
        if bearer is None or bearer.user is None:
            raise InvalidTokenError
        return bearer.user, bearer.scopes


def _query(scope: Scope) -> dict[str, str]:
    """The query parameters. Raises BadRequest if they are too long or not valid text."""
    raw: bytes = scope["query_string"]
    if len(raw) > QUERY_MAX_BYTES:
        raise BadRequest("The address is too long.")
    try:
        return dict(parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise BadRequest("The address contains invalid characters.") from None


def _stream(path: str, query: Mapping[str, str]) -> Stream:
    """The stream of a path such as `/api/v1/streaming/hashtag/local`. Raises NotFound or BadRequest."""
    name = path.rstrip("/").removeprefix(f"{ROOT}/").replace("/", ":")
    try:
        return Stream.parse(name, query)
    except StreamError as error:
        if path.startswith(ROOT) and name in NAMES:
            raise BadRequest(str(error)) from None
        raise NotFound(str(error)) from None


def _position(scope: Scope, query: Mapping[str, str]) -> Position | None:
    """The position that a reconnecting client sent; None if it sent none. Raises BadRequest for an invalid id.

    Pages send it as a query parameter when they open a new EventSource, because scripts cannot set its headers.
    """
    header = next((value for name, value in scope["headers"] if name == b"last-event-id"), b"")
    text = header.decode("latin-1") or query.get("last_event_id", "")
    return Position.parse(text) if text else None


def _token(scope: Scope, query: Mapping[str, str]) -> str:
    """The token from the header, or from the query, because scripts cannot set the headers of an EventSource."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _blank, token = header.decode("latin-1").partition(" ")
    return token if scheme.lower() == "bearer" else query.get("access_token", "")


async def _refuse(scope: Scope, send: Send, refusal: DomainError) -> None:
    body = problem_json(
        status=refusal.status, code=refusal.code, message=refusal.message, path=scope["path"]
    )
    headers: list[tuple[bytes, bytes]] = []
    if isinstance(refusal, TooMany | Unavailable):
        headers.append((b"retry-after", str(refusal.retry_after).encode()))
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b'Bearer realm="api"'))
    await _answer(send, refusal.status, orjson.dumps(body), b"application/json", headers)


async def _answer(
    send: Send,
    status: int,
    body: bytes,
    content_type: bytes,
    extra_headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    headers = [
        *COMMON_HEADERS,
        (b"content-type", content_type),
        (b"content-length", b"%d" % len(body)),
    ]
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": headers + (extra_headers or []),
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})
