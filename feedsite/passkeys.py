"""Where passkeys work: they belong to a name, never to a number, and only over TLS or on the machine itself."""

from ipaddress import ip_address
from urllib.parse import urlsplit


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
