"""Replaces large values in Redis without blocking it.

There are two ways. One is RESTORE with a payload that the client builds in the dump format of Redis: this costs the
server one copy, whereas adding the members one by one costs a search for each. The other is small commands under a
temporary key that is then renamed, so that no client waits or sees half a value.
"""

import secrets
from collections.abc import Iterable, Sequence
from struct import pack
from typing import Any

import anycrc
import numpy as np

from feedcache.connections import graph

BUILDING_TTL_SECONDS = 60  # of a temporary key, whose builder may have died


def replace(key: str, commands: Iterable[tuple[str, list[Any]]], *, ttl_seconds: int) -> None:
    """Replace a key on the server for relations. A command is given by its name, and its arguments after the key."""
    building = f"{key}:building:{secrets.token_hex(4)}"
    pipeline = graph().pipeline(transaction=False)
    for name, arguments in commands:
        pipeline.execute_command(name, building, *arguments)  # type: ignore[no-untyped-call]  # untyped in redis-py
        pipeline.expire(building, BUILDING_TTL_SECONDS)
    pipeline.unlink(key)  # frees it in the background; a rename over it would block the server
    pipeline.rename(building, key)
    pipeline.expire(key, ttl_seconds)
    pipeline.execute()


INTSET, LISTPACKS = 11, 18  # the types of a set of numbers, and of a list

# Servers refuse versions of the format that are newer than their own, so each type is sent with an early version that
# has it (9: Redis 5; 10: Redis 7).
_VERSIONS = {INTSET: 9, LISTPACKS: 10}
_CRC = anycrc.Model("CRC64-REDIS")
# How entries with a number or a text begin in a listpack, and how the listpack ends.
_NUMBER, _TEXT, _END = 0xF4, 0x80, b"\xff"
_DIGITS = 19
_ENTRY = np.dtype([("tag", "u1"), ("number", "<i8"), ("size", "u1")])
_ONE_PACKED = b"\x01\x02"  # a list of one node, which is a listpack


def dump(kind: int, body: bytes, *, head: bytes = b"") -> bytes:
    """The payload for RESTORE: the type, `head`, the length and bytes of the value, the version, and the checksum."""
    data = bytes([kind]) + head + pack(">BI", 0x80, len(body)) + body + pack("<H", _VERSIONS[kind])
    return data + pack("<Q", _CRC.calc(data))


def number_list(numbers: Sequence[int], *, last: bytes = b"") -> bytes:
    """The payload for a list of numbers, zero-padded to 19 digits; `last` is one more member, a short word.

    At most 65,000 members. Without members the payload is empty, because Redis has no empty lists.
    """
    if not numbers and not last:
        return b""
    entries = _numbers(numbers)
    if last:
        entries += _text(last)
    members = len(numbers) + bool(last)
    head = pack("<IH", 6 + len(entries) + len(_END), members)
    return dump(LISTPACKS, head + entries + _END, head=_ONE_PACKED)


def _numbers(numbers: Sequence[int]) -> bytes:
    # Redis does not read a leading zero as a number
    if numbers and min(numbers) < 10 ** (_DIGITS - 1):
        return b"".join(_text(b"%019d" % number) for number in numbers)
    entries: np.ndarray[Any, Any] = np.empty(len(numbers), dtype=_ENTRY)
    entries["tag"], entries["number"], entries["size"] = _NUMBER, numbers, 9
    return entries.tobytes()


def _text(word: bytes) -> bytes:
    return bytes([_TEXT | len(word)]) + word + bytes([1 + len(word)])
