"""One loader for a key that many miss at the same moment, in however many threads and processes.

Whoever adds the lease of a key to Main (else Backup) loads; the others look every few milliseconds. One request per
node asks for all leases of a batch and reads the keys again, so a missed page costs one more round trip, far less than
the query it may save: that is why it is on by default for single keys and pages alike.

A lease lives one to two seconds, and whoever still waits then asks for it like everybody else: a loader that was killed
costs one more load. Whoever waited for longer than that loads without a lease.
"""

import random
import time
from collections.abc import Callable, Collection

from feedcache.memcached.layer import Items
from feedcache.memcached.reads import Read
from feedcache.memcached.tiers import TieredCache

LOOK_SECONDS = (0.010, 0.025)
WAIT_SECONDS = 4.0

Load = Callable[[list[bytes]], Items]  # loads these keys, and says what is to be stored


def load_once(
    cache: TieredCache,
    read: Read,
    missing: Collection[bytes],
    *,
    load: Load,
    accept: Callable[[bytes], bool],
) -> None:
    """Have all missing keys loaded by somebody. `accept` takes what has come for a key, unless it is garbage."""
    deadline = time.monotonic() + WAIT_SECONDS
    waiting = list(missing)
    while waiting:
        leases = cache.lease(read, waiting)
        came = {key for key in waiting if key in read.items and _is_taken(read, key, accept)}
        waiting = [key for key in waiting if key not in came]
        is_late = time.monotonic() > deadline
        mine = [key for key in waiting if key not in leases.lost or is_late]
        try:
            items = load(mine) if mine else {}
        except BaseException:
            cache.fill(read, {}, release=leases.won)
            raise
        cache.fill(read, items, release=leases.won)
        waiting = [key for key in waiting if key in leases.lost and not is_late]
        if waiting:
            time.sleep(random.uniform(*LOOK_SECONDS))  # noqa: S311 -- not a secret


def _is_taken(read: Read, key: bytes, accept: Callable[[bytes], bool]) -> bool:
    if accept(key):
        return True
    read.refuse(key)  # so that what is loaded may take its place
    return False
