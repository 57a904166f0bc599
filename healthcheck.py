"""Is this container well? `python healthcheck.py http 8000 /healthz/ready`, or `worker`, or `beat`: exit status 0.

A worker and beat listen on no port; they report to the Redis of timelines once a second, under the name of their host.
"""

import os
import socket
import sys
import urllib.request
from typing import Any

import redis
from redis.cluster import RedisCluster

PROCESSES, REPORT = (
    "topology:processes",
    "topology:process:{}",
)  # as in feedcache.servers.topology_listener, which a test compares
CLUSTER = "redis+cluster://"
SECONDS = 2


def answers(port: str, path: str) -> bool:
    """Whether the server says that it is well; urllib raises for any status from 400 on."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS):
        return True


def reports(role: str) -> bool:
    """Whether a process of a role on this host has reported within the last seconds."""
    server, here = _redis(os.environ["REDIS_URL"]), f"{socket.gethostname()}:"
    names = [name.decode() for name in server.smembers(PROCESSES)]
    texts = [server.get(REPORT.format(name)) for name in names if name.startswith(here)]
    return any(f'"{role}"'.encode() in text for text in texts if text)


def _redis(url: str) -> Any:
    if url.startswith(CLUSTER):
        first = url.removeprefix(CLUSTER).split(",")[0]
        return RedisCluster.from_url(f"redis://{first}", socket_timeout=SECONDS)
    return redis.Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    sys.exit(0 if (answers(*rest) if what == "http" else reports(what)) else 1)
