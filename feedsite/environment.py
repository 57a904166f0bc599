"""Reads settings from the environment, or from files that it names."""

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from environ import FileAwareEnv
from environ.fileaware_mapping import FileAwareMapping


class _Files(FileAwareMapping):
    """The environment. Line breaks at the end of the files that it names are removed."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return value.rstrip("\r\n") if self.env.get(f"{key}_FILE") else value


class Environment(FileAwareEnv):
    """Accepts `NAME_FILE=/run/secrets/name` instead of `NAME` for every setting; the file takes precedence."""

    ENVIRON = _Files()

    def some_of(self, name: str, possible: Collection[str]) -> list[str]:
        """The values in a setting, in the order of `possible`; all if it is unset. Any other value is refused."""
        named = self.list(name, default=list(possible))
        if unknown := set(named) - set(possible):
            raise ImproperlyConfigured(
                f"{name} names {', '.join(sorted(unknown))}; there are: {', '.join(possible)}"
            )
        return [value for value in possible if value in named]

    def refuse(self, name: str, instead: str) -> None:
        """Raise ImproperlyConfigured if a removed setting is still set: otherwise it would be ignored silently."""
        if name in self.ENVIRON:
            raise ImproperlyConfigured(f"{name} no longer exists: {instead}")


def postgresql_options(timeouts: Mapping[str, int], **others: str) -> str:
    """libpq's `options` for these settings; timeouts are in milliseconds."""
    return " ".join(f"-c {name}={value}" for name, value in {**timeouts, **others}.items())


def tls_files(env: Environment, servers: str) -> dict[str, str]:
    """The TLS files for one kind of server, under the names that the settings of Redis and Celery use."""
    names = {"ca_certs": "CA_FILE", "certfile": "CERT_FILE", "keyfile": "KEY_FILE"}
    found = {name: env.str(f"{servers}_{suffix}", "") for name, suffix in names.items()}
    return {name: path for name, path in found.items() if path}


def relying_party(site_url: str) -> tuple[str, str]:
    """The domain of passkeys, and the origin that may request them.

    Browsers allow no passkeys at an IP address, nor without TLS except at localhost. If the site's URL is one of these,
    passkeys work for people who open the site as http://localhost, with the same port.
    """
    parts = urlsplit(site_url)
    host = parts.hostname or ""
    if not _is_ip_address(host) and (parts.scheme == "https" or host == "localhost"):
        return host, f"{parts.scheme}://{parts.netloc}"
    return "localhost", "http://localhost" + (f":{parts.port}" if parts.port else "")


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
