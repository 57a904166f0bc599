"""Where settings come from: the environment, or files that it names."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from environ import FileAwareEnv
from environ.fileaware_mapping import FileAwareMapping


class _Files(FileAwareMapping):
    """As the library reads them, without the line break that editors end a file with."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return value.rstrip("\r\n") if self.env.get(f"{key}_FILE") else value


class Environment(FileAwareEnv):
    """`SECRET_KEY_FILE=/run/secrets/key` is read as SECRET_KEY, and so is every other setting; the file comes first."""

    ENVIRON = _Files()


def postgresql_options(timeouts: Mapping[str, int], **others: str) -> str:
    """What libpq's `options` has to say for a connection to begin with these settings; time-outs in milliseconds."""
    return " ".join(f"-c {name}={value}" for name, value in {**timeouts, **others}.items())


def relying_party(site_url: str) -> tuple[str, str]:
    """The name that passkeys are for, and the origin that may ask for them.

    A site at 127.0.0.1, or without TLS, cannot have any; then they are for http://localhost at its port, where the same site
    can be opened for a look.
    """
    parts = urlsplit(site_url)
    host = parts.hostname or ""
    if not _is_number(host) and (parts.scheme == "https" or host == "localhost"):
        return host, f"{parts.scheme}://{parts.netloc}"
    return "localhost", "http://localhost" + (f":{parts.port}" if parts.port else "")


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
