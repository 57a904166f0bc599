"""Exits with 0 if this container is healthy: `python healthcheck.py http 8000 /healthz/ready`, or `worker`, or `beat`.

Workers and beat listen on no port; they report to the Redis of timelines once a second, under the name of their host.
"""

import os
import socket
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import redis
from redis.cluster import RedisCluster
from redis.sentinel import Sentinel

PROCESSES, REPORT = (
    "topology:processes",
    "topology:process:{}",
)  # as in feedcache.servers.topology_listener; a test compares the two
TLS_FILES = {
    "ssl_ca_certs": "REDIS_CA_FILE",
    "ssl_certfile": "REDIS_CERT_FILE",
    "ssl_keyfile": "REDIS_KEY_FILE",
}
SECONDS = 2


def answers(port: str, path: str) -> bool:
    """True if the server answers with a status below 400; otherwise urllib raises an error."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS):
        return True


def reports(role: str) -> bool:
    """Whether a process of this role on this host has reported in the last ten seconds, the lifetime of a report."""
    server, here = _redis(_redis_url()), f"{socket.gethostname()}:"
    names = [name.decode() for name in server.smembers(PROCESSES)]
    texts = [server.get(REPORT.format(name)) for name in names if name.startswith(here)]
    return any(f'"{role}"'.encode() in text for text in texts if text)


def _redis_url() -> str:
    """As the site reads it: the file wins over the variable."""
    file = os.environ.get("REDIS_URL_FILE")
    return Path(file).read_text().rstrip("\r\n") if file else os.environ["REDIS_URL"]


def _redis(url: str) -> Any:
    """A client for an address in any form that `feedcache.redis_clients` accepts."""
    scheme, _, rest = url.partition("://")
    scheme, _, kind = scheme.partition("+")
    options: dict[str, Any] = {"socket_timeout": SECONDS, "socket_connect_timeout": SECONDS}
    if scheme == "rediss":
        files = {option: os.environ.get(name) for option, name in TLS_FILES.items()}
        options |= {option: path for option, path in files.items() if path}
    if kind == "cluster":
        return RedisCluster.from_url(f"{scheme}://{rest.split(',')[0]}", **options)
    if kind == "sentinel":
        options["ssl"] = scheme == "rediss"
        login, _, rest = rest.rpartition("@")
        addresses, name, *database = rest.split("/")
        nodes = [address.rpartition(":") for address in addresses.split(",")]
        username, _, password = map(unquote, login.partition(":"))
        sentinels: Any = Sentinel(
            [(host, int(port)) for host, _, port in nodes], sentinel_kwargs=options
        )  # type: ignore[no-untyped-call]  # redis-py has no types for it
        return sentinels.master_for(
            name,
            db=int(database[0]) if database else 0,
            username=username or None,
            password=password or None,
            **options,
        )
    return redis.Redis.from_url(url, **options)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    sys.exit(0 if (answers(*rest) if what == "http" else reports(what)) else 1)
