"""Encrypts messages for devices, and signs requests to push services with the site's key (RFC 8291, RFC 8292).

It implements the standards with the primitives of `cryptography`; docs/dependencies.md explains why no Web Push library
is used. Mastodon's older clients expect the fourth draft of RFC 8291.
"""

import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from hashlib import sha256
from time import time
from typing import NamedTuple
from urllib.parse import urlsplit

from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage
from jwcrypto.jwk import JWK
from jwcrypto.jwt import JWT

from apps.encryption import vault

CURVE = ec.SECP256R1()
KEY_BYTES, POINT_BYTES, AUTH_BYTES, SALT_BYTES = 32, 65, 16, 16
_PURPOSE = "apps.push.seal"
RECORD_SIZE = 4096  # a message is one record
SIGNED_SECONDS = 12 * 3600  # RFC 8292 allows a day


class Keys(NamedTuple):
    """A device's keys: its public key as a point, and its secret."""

    point: bytes
    auth: bytes


class Message(NamedTuple):
    body: bytes
    headers: dict[str, str]


def decoded(text: str) -> bytes:
    """Decode base64url, with or without padding, or plain base64, which some clients send. Raises ValueError."""
    plain = text.strip().rstrip("=").replace("+", "-").replace("/", "_")
    return urlsafe_b64decode(plain + "=" * (-len(plain) % 4))


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def device_keys(p256dh: str, auth: str) -> Keys:
    """Parse a device's keys. Raises ValueError if they are invalid."""
    keys = Keys(decoded(p256dh), decoded(auth))
    ec.EllipticCurvePublicKey.from_encoded_point(CURVE, keys.point)
    if len(keys.point) != POINT_BYTES or len(keys.auth) != AUTH_BYTES:
        raise ValueError("a key of the wrong length")
    return keys


def site_key() -> ec.EllipticCurvePrivateKey | None:
    """The site's key; None if VAPID_PRIVATE_KEY is empty. Raises ValueError if it is not 32 bytes in base64url."""
    return _private_key(settings.VAPID_PRIVATE_KEY)


@lru_cache(maxsize=2)
def _private_key(text: str) -> ec.EllipticCurvePrivateKey | None:
    if not text:
        return None
    number = decoded(text)
    if len(number) != KEY_BYTES:
        raise ValueError("not 32 bytes")
    return ec.derive_private_key(int.from_bytes(number), CURVE)


def public_key() -> str:
    """The public key with which browsers and clients subscribe; empty if the site has no key."""
    key = site_key()
    return encoded(_point(key)) if key else ""


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def sealed_message(text: bytes, endpoint: str, keys: Keys, *, standard: bool = True) -> Message:
    """The body and headers of a request to a push service. Raises ValueError if the site has no key."""
    key = site_key()
    if key is None:
        raise ValueError("there is no VAPID_PRIVATE_KEY")
    own, salt = ec.generate_private_key(CURVE), os.urandom(SALT_BYTES)
    token, site = _token(key, endpoint), encoded(_point(key))
    if standard:
        body = encrypted(text, keys, own, salt)
        return Message(
            body, {"Content-Encoding": "aes128gcm", "Authorization": f"vapid t={token}, k={site}"}
        )
    headers = {
        "Content-Encoding": "aesgcm",
        "Encryption": f"salt={encoded(salt)}",
        "Crypto-Key": f"dh={encoded(_point(own))};p256ecdsa={site}",
        "Authorization": f"WebPush {token}",
    }
    return Message(encrypted_by_draft(text, keys, own, salt), headers)


def _token(key: ec.EllipticCurvePrivateKey, endpoint: str) -> str:
    """The VAPID token: the push service's origin, the expiry, and a contact of this site."""
    parts = urlsplit(endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(time()) + SIGNED_SECONDS,
        "sub": settings.SECURITY_CONTACT,
    }
    token = JWT(header={"typ": "JWT", "alg": "ES256"}, claims=claims)
    token.make_signed_token(JWK.from_pyca(key))
    signed: str = token.serialize()
    return signed


def encrypted(text: bytes, keys: Keys, own: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    """Encrypt according to RFC 8291, as one record of RFC 8188. `own` is a new key for this message."""
    point = _point(own)
    shared = own.exchange(ec.ECDH(), _device_key(keys))
    secret = _hkdf(shared, keys.auth, b"WebPush: info\0" + keys.point + point, 32)
    key = _hkdf(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _hkdf(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + struct.pack("!IB", RECORD_SIZE, len(point)) + point
    return head + AESGCM(key).encrypt(nonce, text + b"\2", None)


def encrypted_by_draft(
    text: bytes, keys: Keys, own: ec.EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    """Encrypt as in draft-ietf-webpush-encryption-04: the salt and key are in headers, and the padding comes first."""
    point = _point(own)
    shared = own.exchange(ec.ECDH(), _device_key(keys))
    secret = _hkdf(shared, keys.auth, b"Content-Encoding: auth\0", 32)
    sides = b"P-256\0" + b"".join(
        struct.pack("!H", POINT_BYTES) + side for side in (keys.point, point)
    )
    key = _hkdf(secret, salt, b"Content-Encoding: aesgcm\0" + sides, 16)
    nonce = _hkdf(secret, salt, b"Content-Encoding: nonce\0" + sides, 12)
    return AESGCM(key).encrypt(nonce, b"\0\0" + text, None)


def _device_key(keys: Keys) -> ec.EllipticCurvePublicKey:
    return ec.EllipticCurvePublicKey.from_encoded_point(CURVE, keys.point)


def _hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def topic_of(key: str) -> str:
    """A topic of at most 32 characters: a message replaces a waiting message with the same topic (RFC 8030)."""
    return encoded(sha256(key.encode()).digest())[:32]


def seal(token: str) -> str:
    """Encrypt a token for storage, so that the database alone does not reveal it."""
    return vault(_PURPOSE).encrypt(token.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt a stored token; "" if it was encrypted with a key that is not in SECRET_KEY or SECRET_KEY_FALLBACKS."""
    try:
        return vault(_PURPOSE).decrypt(sealed.encode()).decode()
    except InvalidToken:
        return ""


MAKE_A_KEY = (
    'Make one: python -c "import base64, secrets;'
    ' print(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())"'
)


@checks.register(checks.Tags.security)
def check_key(**_options: object) -> list[CheckMessage]:
    """Check VAPID_PRIVATE_KEY at start; otherwise an invalid key would be noticed only when it is first used."""
    try:
        key = site_key()
    except ValueError:
        text = "VAPID_PRIVATE_KEY is not 32 bytes in base64url."
        return [checks.Error(text, hint=MAKE_A_KEY, id="push.E001")]
    if key is None and settings.PRODUCTION:
        text = "VAPID_PRIVATE_KEY is empty: no notifications are sent to devices."
        return [checks.Warning(text, hint=MAKE_A_KEY, id="push.W001")]
    return []
