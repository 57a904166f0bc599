"""Ed25519 signatures for the receipts in the page archives that readers download. The public key is published."""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings


def signing_key() -> Ed25519PrivateKey | None:
    """The private key; None if PAGE_SIGNING_KEY is empty. Raises ValueError if it is not 32 bytes in base64."""
    text = settings.PAGE_SIGNING_KEY
    if not text:
        return None
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(text, validate=True))


def sign(content: bytes) -> bytes | None:
    """The signature of the content, 64 bytes; None if there is no key."""
    key = signing_key()
    return key.sign(content) if key else None


def public_key() -> bytes | None:
    """The public key in PEM, as openssl reads it; None if there is no key."""
    key = signing_key()
    if key is None:
        return None
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
