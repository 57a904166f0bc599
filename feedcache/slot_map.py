"""Maps keys to the slots of a pool. When the number of slots changes, as few keys as possible move.

A key belongs to one of 840 buckets, by its CRC-32. A *slot map* gives the slot of each bucket, so every key has exactly
one slot. 840 is a multiple of every number up to 8, so pools of up to eight slots are exactly even.
"""

import zlib
from collections import Counter
from collections.abc import Collection

BUCKETS = 840
NOWHERE = 255  # in place of a slot, for the buckets that a map leaves out
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_NO_LETTER = b"."

SlotMap = bytes  # the slot of each bucket


def bucket_of(key: bytes) -> int:
    """The bucket of a key, the same in every process and release."""
    return zlib.crc32(key) % BUCKETS


def even_map(slots: int) -> SlotMap:
    """The map of a pool whose number of slots has never changed."""
    return bytes(bucket % slots if slots else NOWHERE for bucket in range(BUCKETS))


def rebalanced(old: SlotMap, slots: Collection[int]) -> SlotMap:
    """A map in which only `slots` have buckets, in numbers that differ by at most one. Moves as few buckets as
    possible.
    """
    if not slots:
        return even_map(0)
    counts = Counter(old)
    fewest, larger = divmod(BUCKETS, len(slots))
    by_size = sorted(slots, key=lambda slot: (-counts[slot], slot))
    room = {slot: fewest + (number < larger) for number, slot in enumerate(by_size)}
    new, homeless = bytearray(old), []
    for bucket, slot in enumerate(old):
        if room.get(slot):
            room[slot] -= 1
        else:
            homeless.append(bucket)
    free = [slot for slot, number in sorted(room.items()) for _ in range(number)]
    for bucket, slot in zip(homeless, free, strict=True):
        new[bucket] = slot
    return bytes(new)


def moved(old: SlotMap, new: SlotMap) -> int:
    """The number of buckets whose slots differ between the maps."""
    return sum(a != b for a, b in zip(old, new, strict=True))


def only_moved(one: SlotMap, other: SlotMap) -> SlotMap:
    """The map `one`, but without the buckets that have the same slot in both maps."""
    return bytes(a if a != b else NOWHERE for a, b in zip(one, other, strict=True))


def without_slots(old: SlotMap, gone: Collection[int]) -> SlotMap:
    """The map after the removal of slots without buckets: later slots are renumbered."""
    return bytes(
        slot if slot == NOWHERE else slot - sum(one < slot for one in gone) for slot in old
    )


def to_text(slots: SlotMap) -> str:
    letters = bytes.maketrans(bytes([*range(len(_LETTERS)), NOWHERE]), _LETTERS + _NO_LETTER)
    return slots.translate(letters).decode()


def from_text(text: str) -> SlotMap:
    """The inverse of `to_text`. Raises ValueError for anything else."""
    letters = text.encode()
    if len(letters) != BUCKETS or letters.strip(_LETTERS + _NO_LETTER):
        raise ValueError("not a slot map")
    return bytes(NOWHERE if one == _NO_LETTER[0] else _LETTERS.index(one) for one in letters)
