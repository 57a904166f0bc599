"""The version of the running code, and a hash that anybody with a checkout can compute."""

import hashlib
from functools import cache

from django.conf import settings

CODE = ("apps", "feedcache", "feedsite", "templates")


@cache
def code_hash() -> str:
    """The SHA-256 of the output of `sha256sum` for all files of the running code, in the order of their paths."""
    base = settings.BASE_DIR
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(base)}\n"
        for folder in CODE
        for path in (base / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    lines.sort(key=lambda line: line[66:].encode())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def code_version() -> str:
    """The version as stated in receipts, with the same hash as on `/audit`."""
    return f"{settings.VERSION} sha256:{code_hash()}"
