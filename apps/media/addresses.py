"""Where pictures are: those of open posts under their random names, all others only for those who were just shown them.

An address of a restricted picture is signed and ends within two days. It is made when the post is read, which PostgreSQL
decides each time: whoever may not see the post any more gets no new one.
"""

import secrets
from time import time

from django.conf import settings
from django.core.files.storage import default_storage
from django.utils.crypto import constant_time_compare, salted_hmac

OPEN_FOLDER, RESTRICTED_FOLDER = "pictures/", "restricted/"
LIFETIME_SECONDS = (
    24 * 3600
)  # at least: it is the same for everybody and all day, so that browsers keep the picture
KEY_CHARACTERS = 32
_SALT = "apps.media.addresses"


def new_name(*, is_open: bool) -> str:
    """A name in the storage that nobody can guess."""
    return f"{OPEN_FOLDER if is_open else RESTRICTED_FOLDER}{secrets.token_hex(16)}.webp"


def is_restricted(name: str) -> bool:
    """Whether a stored picture is shown by signed addresses only."""
    return name.startswith(RESTRICTED_FOLDER)


def address_of(name: str) -> str:
    """The address of a stored picture, below the site's; of a restricted one it works for one or two days."""
    url: str = default_storage.url(name)
    if not is_restricted(name):
        return url
    until = (int(time()) // LIFETIME_SECONDS + 2) * LIFETIME_SECONDS
    return f"{url}?until={until}&key={_key(name, str(until), settings.SECRET_KEY)}"


def may_be_shown(name: str, *, until: str, key: str) -> bool:
    """Whether an address of a stored picture holds."""
    if not is_restricted(name):
        return True
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    holds = any(constant_time_compare(key, _key(name, until, secret)) for secret in keys)
    return holds and int(until) > time()  # what was signed is a number


def _key(name: str, until: str, secret: str) -> str:
    digest = salted_hmac(_SALT, f"{name}?{until}", secret=secret, algorithm="sha256").hexdigest()
    return digest[:KEY_CHARACTERS]
