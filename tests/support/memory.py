"""Reads what a Memcached node really holds, bypassing the code under test, and empties the caches."""

import socket
from urllib.parse import unquote_to_bytes

from feedcache import memcached_tiers as module
from feedcache.connections import counters, limits, timelines
from feedcache.memcached_node import read_answer
from feedcache.memcached_tiers import TieredCache, tiers, use_topology
from feedcache.servers.topology_listener import listener
from feedcache.structures import rate_limit


def told(url, request, *, end=b"\r\n"):
    """The answer of a node to a raw request, read up to `end`."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(url.removeprefix("unix:"))
        connection.sendall(request)
        answer = b""
        while not answer.endswith(end):
            data = connection.recv(65536)
            assert data, answer
            answer += data
        return answer


def keys_in(url):
    """All keys of a node as they are stored, unexpired or not."""
    dump = told(url, b"lru_crawler metadump hash\r\n", end=b"END\r\n")
    lines = dump.split(b"\n")[:-2]
    return [unquote_to_bytes(line.split()[0].removeprefix(b"key=")) for line in lines]


def contents(node, generation=None):
    """The data of all values of one generation of a node, by key: what a read of this node can see."""
    stamp = read_answer(told(node.url, b"gets %s\r\n" % node.stamp_key, end=b"END\r\n"), 0, 0)[0]
    if generation is None:
        if node.stamp_key not in stamp.items:
            return {}
        generation = int(stamp.items[node.stamp_key].data)
    head = node.head(generation) + b":"
    found = {}
    for key in keys_in(node.url):
        if key.startswith(head):
            items = read_answer(told(node.url, b"gets %s\r\n" % key, end=b"END\r\n"), 0, 0)[0].items
            if key in items:
                found[key.removeprefix(head).decode()] = items[key]
    return found


def plant(node, key, data, *, flags=0, ttl_seconds=60):
    """Store bytes in a node, under a key as the tiers would write it."""
    wire = node.head(node.current()) + b":" + key.encode()
    line = b"set %s %d %d %d\r\n%s\r\n" % (wire, flags, ttl_seconds, len(data), data)
    assert told(node.url, line) == b"STORED\r\n"


def flush():
    """Empty all nodes of the tiers that this process uses."""
    for node in tiers().nodes():
        told(node.url, b"flush_all\r\n")


def empty_redis():
    timelines().flushdb()
    limits().flushdb()
    counters().flushdb()
    rate_limit.local.clear()


def forget(topology=None):
    """Start with new clients and no knowledge of the nodes, like a new process. Returns the tiers."""
    if module._current.cache is not None:
        for node in module._current.cache.nodes():
            node.retire()
        module._current.cache = None
    use_topology(topology or listener().topology)
    return tiers()


def another(topology):
    """A separate instance of the tiers, like that of another process."""
    return TieredCache(topology, {})
