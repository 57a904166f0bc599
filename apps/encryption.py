"""Encryption of secrets for storage, so that the database alone does not reveal them."""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


def vault(purpose: str) -> MultiFernet:
    """A cipher whose key is derived from SECRET_KEY and the purpose. It also decrypts with SECRET_KEY_FALLBACKS."""
    keys = (
        salted_hmac(purpose, "", secret=secret, algorithm="sha256").digest()
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
    return MultiFernet([Fernet(urlsafe_b64encode(key)) for key in keys])
