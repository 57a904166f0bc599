"""A push service for tests: an HTTPS server on this machine that keeps the messages, and a device that decrypts them.

The device implements the receiver of RFC 8291, and of its fourth draft, with cryptographic primitives alone: it shares
no code with `apps.push.encryption`.
"""

import hashlib
import hmac
import json
import os
import ssl
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tools.scale.certificates import Certificates


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class PushService:
    address: str
    received: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # of the next responses; after these, 201
    # called before a response is sent, with its connection
    before: Callable[[Any], None] = lambda _socket: None


@contextmanager
def push_service(files: Certificates) -> Iterator[PushService]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            service.received.append(Received(self.path, headers, body))
            service.before(self.connection)
            self.send_response(service.statuses.pop(0) if service.statuses else 201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments):
            pass

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.certificate, files.key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    service = PushService(f"https://localhost:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Device:
    """A device: its keys, and how it decrypts a message."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._auth = os.urandom(16)
        self._point = self._key.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        self.keys = {"p256dh": encoded(self._point), "auth": encoded(self._auth)}

    def read(self, message: Received) -> dict[str, Any]:
        """The JSON in a message that was encrypted for this device; InvalidTag if it was not."""
        if message.headers["content-encoding"] == "aes128gcm":
            text = self._read_standard(message.body)
        else:
            text = self._read_draft(message)
        found: dict[str, Any] = json.loads(text)
        return found

    def _read_standard(self, body: bytes) -> bytes:
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        assert len(body) <= size == 4096
        secret = _hkdf(
            self._auth, self._shared(sender), b"WebPush: info\0" + self._point + sender, 32
        )
        key = _hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
        text = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
        assert text[-1] == 2  # the last record
        return text[:-1]

    def _read_draft(self, message: Received) -> bytes:
        salt = decoded(message.headers["encryption"].removeprefix("salt="))
        parts = dict(one.split("=", 1) for one in message.headers["crypto-key"].split(";"))
        sender = decoded(parts["dh"])
        secret = _hkdf(self._auth, self._shared(sender), b"Content-Encoding: auth\0", 32)
        sides = b"P-256\0" + b"\0\x41" + self._point + b"\0\x41" + sender
        key = _hkdf(salt, secret, b"Content-Encoding: aesgcm\0" + sides, 16)
        nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\0" + sides, 12)
        text = AESGCM(key).decrypt(nonce, message.body, None)
        return text[2 + int.from_bytes(text[:2]) :]

    def _shared(self, sender: bytes) -> bytes:
        other = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        return self._key.exchange(ec.ECDH(), other)


def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    """HKDF (RFC 5869) with one block of output."""
    key = hmac.new(salt, secret, hashlib.sha256).digest()
    return hmac.new(key, info + b"\1", hashlib.sha256).digest()[:length]


def claims_of(message: Received) -> tuple[dict[str, Any], str]:
    """The claims that the site signed, and its public key. InvalidSignature."""
    said = message.headers["authorization"]
    if said.startswith("vapid "):
        parts = dict(one.strip().split("=", 1) for one in said.removeprefix("vapid ").split(","))
        token, site = parts["t"], parts["k"]
    else:
        token = said.removeprefix("WebPush ")
        site = message.headers["crypto-key"].partition("p256ecdsa=")[2]
    signed, _dot, signature = token.rpartition(".")
    head, claims = (json.loads(decoded(part)) for part in signed.split("."))
    assert head == {"typ": "JWT", "alg": "ES256"}
    raw = decoded(signature)
    as_der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(site))
    key.verify(as_der, signed.encode(), ec.ECDSA(SHA256()))
    return claims, site


def trust(monkeypatch, files: Certificates) -> None:
    """For the rest of the test, let this process treat localhost as a public address and trust its certificate."""
    monkeypatch.setattr("apps.http.public_addresses.is_public", lambda _address: True)
    monkeypatch.setenv("SSL_CERT_FILE", str(Path(files.ca)))
