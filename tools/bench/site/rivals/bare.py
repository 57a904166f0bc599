"""The least that a home page can cost in Python: two round trips through plain sockets, without framework or rules.

Ids and the reader's number come from Redis; then posts and authors from Memcached and counts from Redis, sent together.
The client is trusted, nobody is blocked, nothing is restricted, and the data is only put into the shape of the
response.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import hiredis
import orjson

from feedcache.memcached_node import Incomplete, get_request, read_answer

PAGE = 20
RECEIVE_BYTES = 256 * 1024
POST, AUTHOR, COUNTS, TOKEN, IDS = b"bare:p:", b"bare:a:", b"bare:c:", b"bare:t:", b"bare:ids:"


_FIND = b"local r = redis.call('GET', KEYS[1]) return redis.call('LRANGE', ARGV[1] .. r, 0, 19)"


class _Connections:
    def __init__(self) -> None:
        self.redis = _connected(os.environ["BENCH_REDIS"])
        self.memcached = _connected(os.environ["BENCH_MEMCACHED"])
        self.reader = hiredis.Reader()


_local = threading.local()


def _mine() -> _Connections:
    found: _Connections | None = getattr(_local, "connections", None)
    if found is None:
        found = _local.connections = _Connections()
    return found


def _connected(place: str) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.connect(place)
    return found


def application(environ: Mapping[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
    token = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
    body = orjson.dumps(_page(token.encode()))
    start("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def _page(token: bytes) -> list[Any]:
    ids: list[bytes] = _asked([(b"EVAL", _FIND, b"1", TOKEN + token, IDS)])[0]
    authors = {post_id: b"%d" % (int(post_id) >> 4 & 0xFFFFFFF) for post_id in ids}
    _mine().memcached.sendall(
        get_request(
            [*(POST + one for one in ids), *(AUTHOR + one for one in set(authors.values()))]
        )
    )
    counts = _asked([(b"MGET", *(COUNTS + one for one in ids))])[0]
    found = _received()
    page = []
    for post_id, counted in zip(ids, counts, strict=True):
        post = orjson.loads(found[POST + post_id].data)
        post["account"] = orjson.loads(found[AUTHOR + authors[post_id]].data)
        post["replies_count"], post["reblogs_count"], post["favourites_count"] = orjson.loads(
            counted
        )
        page.append(post)
    return page


def _asked(commands: Sequence[tuple[bytes, ...]]) -> list[Any]:
    packed = [hiredis.pack_command(one) for one in commands]  # type: ignore[arg-type]  # any number of them
    _mine().redis.sendall(b"".join(packed))
    answers: list[Any] = []
    while len(answers) < len(commands):
        answer = _mine().reader.gets()
        if answer is False:
            _mine().reader.feed(_mine().redis.recv(RECEIVE_BYTES))
        else:
            answers.append(answer)
    return answers


def _received() -> dict[bytes, Any]:
    data = b""
    while True:
        data += _mine().memcached.recv(RECEIVE_BYTES)
        try:
            return dict(read_answer(data, 0, 0)[0].items)
        except Incomplete:
            continue
