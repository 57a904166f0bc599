"""Signs messages according to the Standard Webhooks specification, and encrypts the secrets for storage."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable
from secrets import token_bytes

from apps.encryption import vault

_PURPOSE = "apps.webhooks.seal"
PREFIX = "whsec_"
SECRET_BYTES = 32  # the specification allows 24 to 64


def new_secret() -> str:
    return PREFIX + b64encode(token_bytes(SECRET_BYTES)).decode()


def signature_headers(
    message_id: str, seconds: int, body: bytes, secrets: Iterable[str]
) -> dict[str, str]:
    """The headers of a message sent at a Unix time, with one signature for each secret."""
    signed = f"{message_id}.{seconds}.".encode() + body
    signatures = (f"v1,{_signature(secret, signed)}" for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(signatures),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = b64decode(secret.removeprefix(PREFIX))
    return b64encode(hmac.digest(key, signed, "sha256")).decode()


def seal(secret: str) -> str:
    """Encrypt a secret for storage, so that the database alone does not reveal it."""
    return vault(_PURPOSE).encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt a stored secret. Raises InvalidToken if it was encrypted with a key not in the settings."""
    return vault(_PURPOSE).decrypt(sealed.encode()).decode()
