"""Addresses of stored files: signed and expiring for the files of restricted posts, permanent for all others.

The address of a restricted file expires within two days. It is signed when the post is read, and PostgreSQL authorizes
every read, so readers who have lost access to the post get no new address.
"""

import secrets
from functools import lru_cache
from time import time

from django.conf import settings
from django.core.files.storage import default_storage
from django.utils.crypto import constant_time_compare, salted_hmac

OPEN_FOLDER, RESTRICTED_FOLDER = "pictures/", "restricted/"
# The minimum lifetime. An address is the same all day and for all readers, so that browsers can cache the picture.
LIFETIME_SECONDS = 24 * 3600
KEY_CHARACTERS = 32
MAX_REMEMBERED = 8192  # paths, of some 200 bytes each
_SALT = "apps.media.addresses"


def new_name(*, is_open: bool, suffix: str = ".webp") -> str:
    """An unguessable name in the storage."""
    folder = OPEN_FOLDER if is_open else RESTRICTED_FOLDER
    return f"{folder}{secrets.token_hex(16)}{suffix}"


def is_restricted(name: str) -> bool:
    """Whether a stored file needs a signed address."""
    return name.startswith(RESTRICTED_FOLDER)


@lru_cache(maxsize=MAX_REMEMBERED)
def path_of(name: str) -> str:
    """The path of a stored file. Cached, because it depends only on the name, and a page shows about twenty avatars."""
    path: str = default_storage.url(name)
    return path


def address_of(name: str) -> str:
    """The relative address of a stored file; a restricted file's address expires within two days."""
    url = path_of(name)
    if not is_restricted(name):
        return url
    until = (int(time()) // LIFETIME_SECONDS + 2) * LIFETIME_SECONDS
    return f"{url}?until={until}&key={_key(name, str(until), settings.SECRET_KEY)}"


def may_be_shown(name: str, *, until: str, key: str) -> bool:
    """Whether the signature of an address is valid and has not expired; open files need none."""
    if not is_restricted(name):
        return True
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    is_signed = any(constant_time_compare(key, _key(name, until, secret)) for secret in keys)
    return is_signed and int(until) > time()  # a signed `until` is a number


def _key(name: str, until: str, secret: str) -> str:
    digest = salted_hmac(_SALT, f"{name}?{until}", secret=secret, algorithm="sha256").hexdigest()
    return digest[:KEY_CHARACTERS]
