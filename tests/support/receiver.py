"""A server for tests that receives webhooks, and verifies signatures by code of its own."""

import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Message:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def is_signed_with(self, secret: str) -> bool:
        """Whether one of the signatures is of this secret."""
        signed = b".".join(
            (
                self.headers["webhook-id"].encode(),
                self.headers["webhook-timestamp"].encode(),
                self.body,
            )
        )
        key = b64decode(secret.removeprefix("whsec_"), validate=True)
        expected = "v1," + b64encode(hmac.new(key, signed, sha256).digest()).decode()
        return expected in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    address: str
    received: list[Message] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # of the next responses; after these, 204
    location: str = ""  # a header of the responses
    # called before a response is sent, with its connection
    before: Callable[[Any], None] = lambda _socket: None

    @property
    def contents(self) -> list[dict[str, Any]]:
        return [message.content for message in self.received]


@contextmanager
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            running.received.append(Message(self.path, headers, body))
            running.before(self.connection)
            self.send_response(running.statuses.pop(0) if running.statuses else 204)
            if running.location:
                self.send_header("Location", running.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
