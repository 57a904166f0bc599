"""A server that lets programs in other languages use the cache tiers over Memcached's text protocol.

It accepts `get`, `gets`, `set`, `cas`, `delete`, `version` and `quit`, and answers ERROR to everything else (`add`,
`incr` and similar commands cannot be atomic in several layers). All keys get a prefix, so that programs neither read
nor change the site's own entries.
"""

import time
from hashlib import blake2b
from socketserver import StreamRequestHandler, ThreadingTCPServer

from feedcache.memcached_tiers import TieredCache, tiers, write_in_force

PREFIX = "proxy:"
MAX_LINE_BYTES = 262_144
MAX_VALUE_BYTES = 1_000_000  # Memcached's limit is 1 MiB for an item with its key
MAX_KEY_BYTES = 200  # Memcached's limit is 250, including the prefixes of the proxy and of the site
MAX_KEYS = 1_000  # in a request
MONTH_SECONDS = 30 * 24 * 3600  # a greater number is a date, in Unix time
IDLE_SECONDS = 600.0
FLAGS_BYTES = 4  # the client's flags, stored in front of each value

BAD_LINE, ERROR = b"CLIENT_ERROR bad command line format\r\n", b"ERROR\r\n"
END, STORED, EXISTS, NOT_FOUND = b"END\r\n", b"STORED\r\n", b"EXISTS\r\n", b"NOT_FOUND\r\n"


class MemcachedProxy(ThreadingTCPServer):
    """Listens on an address, with a thread for each connection. `serve_forever` runs it, `shutdown` stops it."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Connection)


class _Connection(StreamRequestHandler):
    timeout = IDLE_SECONDS

    def handle(self) -> None:
        try:
            while line := self.rfile.readline(MAX_LINE_BYTES):
                if not line.endswith(b"\n") or line.split() == [b"quit"]:
                    return
                self.wfile.write(self._answer(line.split()))
        except (TimeoutError, ConnectionError):
            return

    def _answer(self, words: list[bytes]) -> bytes:
        name, args = (words[0], words[1:]) if words else (b"", [])
        is_silent = args[-1:] == [b"noreply"]
        if is_silent:
            args.pop()
        try:
            match name:
                case b"get" | b"gets":
                    answer = _get(args, with_cas=name == b"gets")
                case b"set" | b"cas":
                    answer = self._store(args)
                case b"delete":
                    answer = _delete(args)
                case b"version":
                    answer = b"VERSION 1.0 feedcache\r\n"
                case _:
                    answer = ERROR
        # wrong number of words, invalid number or key, too large a value or flags
        except (ValueError, OverflowError):
            answer = BAD_LINE
        return b"" if is_silent else answer

    def _store(self, args: list[bytes]) -> bytes:
        name, flags, exptime, length, *unique = args
        data = self._data(int(length))
        value = int(flags).to_bytes(FLAGS_BYTES, "big") + data
        if not unique:
            return _set(_key(name), value, _seconds(exptime))
        (number,) = unique
        return _cas(_key(name), value, _seconds(exptime), int(number))

    def _data(self, size: int) -> bytes:
        """Read a value. Raises ValueError if `size` is negative or too large, or if the value does not end there."""
        if size < 0:
            raise ValueError(size)
        if size > MAX_VALUE_BYTES:
            self._skip(size + 2)
            raise ValueError(size)
        data = self.rfile.read(size + 2)
        if not data.endswith(b"\r\n"):
            raise ValueError(data[-2:])
        return data[:-2]

    def _skip(self, size: int) -> None:
        """Discard a refused value, so that it is not read as commands. Raises ConnectionError if it is incomplete."""
        while size > 0:
            piece = self.rfile.read(min(size, MAX_LINE_BYTES))
            if not piece:
                raise ConnectionError
            size -= len(piece)


def _key(name: bytes) -> str:
    key = name.decode()
    if len(name) > MAX_KEY_BYTES or not key.isprintable():
        raise ValueError(key)
    return PREFIX + key


def _seconds(exptime: bytes) -> int:
    """The time to live in seconds; 0 or less if it has already passed. A client's 0 means the maximum, a month."""
    seconds = int(exptime)
    if seconds > MONTH_SECONDS:
        return seconds - int(time.time())
    return seconds or MONTH_SECONDS


def _get(names: list[bytes], *, with_cas: bool) -> bytes:
    if not 0 < len(names) <= MAX_KEYS:
        return ERROR
    answer = []
    for key, value in tiers().get_many(list(map(_key, names))).items():
        flags, data = int.from_bytes(value[:FLAGS_BYTES], "big"), value[FLAGS_BYTES:]
        unique = f" {_unique(value)}" if with_cas else ""
        head = f"VALUE {key.removeprefix(PREFIX)} {flags} {len(data)}{unique}\r\n"
        answer += [head.encode(), data, b"\r\n"]
    return b"".join([*answer, END])


def _unique(value: bytes) -> int:
    """The number that `cas` compares. Equal values have equal numbers."""
    return int.from_bytes(blake2b(value, digest_size=8).digest(), "big")


def _set(key: str, value: bytes, seconds: int) -> bytes:
    is_stored = write_in_force(
        lambda cache: (
            _set_in(cache, key, value, seconds) if seconds > 0 else cache.delete_many([key])
        )
    )
    return STORED if is_stored else b"SERVER_ERROR not stored\r\n"


def _set_in(cache: TieredCache, key: str, value: bytes, seconds: int) -> bool:
    is_stored = cache.set_many({key: value}, ttl_seconds=seconds)
    found = cache.gets(key)
    if found is not None and found[0] != value:
        # another client stored a value at the same moment: the layers may now have different values
        cache.delete_many([key])
    return is_stored


def _cas(key: str, value: bytes, seconds: int, unique: int) -> bytes:
    cache = tiers()
    found = cache.gets(key)
    if found is None:
        return NOT_FOUND
    before, token = found
    if _unique(before) != unique:
        return EXISTS
    if seconds <= 0:
        return _set(key, value, seconds)
    return STORED if cache.cas(key, value, token, ttl_seconds=seconds) else EXISTS


def _delete(args: list[bytes]) -> bytes:
    name, *zero = args
    if zero not in ([], [b"0"]):
        raise ValueError(zero)
    key = _key(name)
    was_there = bool(tiers().get_many([key]))
    if not write_in_force(lambda cache: cache.delete_many([key])):
        return b"SERVER_ERROR not deleted\r\n"
    return b"DELETED\r\n" if was_there else NOT_FOUND
