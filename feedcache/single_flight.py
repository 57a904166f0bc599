"""Lets one caller load a key that many callers miss at the same moment, in any number of threads and processes.

The caller that adds the lease of a key to Main (or to Backup) loads it; the others poll every 10 to 25 ms. One
request per node adds all leases of a batch and reads the keys again, so a miss costs one more round trip. That costs
far less than the query that it may save, so single flight is on by default.

A lease is stored under a separate key. So a key with a tombstone or an outdated value can have a lease, too, and code
that stores values does not need to handle leases (docs/decisions/0148).

A lease lasts one to two seconds. After that, a waiting caller may acquire it, so a killed loader costs one more load. A
caller that has waited `WAIT_SECONDS` loads without a lease.
"""

import random
import time
from collections.abc import Callable, Collection

from feedcache.memcached_tiers import Items, Read, TieredCache

POLL_SECONDS = (0.010, 0.025)
WAIT_SECONDS = 4.0

Load = Callable[[list[bytes]], Items]  # loads keys, and returns the items to store


def load_once(
    cache: TieredCache,
    read: Read,
    missing: Collection[bytes],
    *,
    load: Load,
    accept: Callable[[bytes], bool],
) -> None:
    """Let one caller load each missing key. `accept` is called with the key of each item stored in the meantime, and
    returns whether the item is usable.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    waiting = list(missing)
    while waiting:
        leases = cache.lease(read, waiting)
        stored = {key for key in waiting if key in read.items and _is_usable(read, key, accept)}
        waiting = [key for key in waiting if key not in stored]
        is_late = time.monotonic() > deadline
        to_load = [key for key in waiting if key not in leases.lost or is_late]
        try:
            items = load(to_load) if to_load else {}
        except BaseException:
            cache.fill(read, {}, release=leases.won)
            raise
        cache.fill(read, items, release=leases.won)
        waiting = [key for key in waiting if key in leases.lost and not is_late]
        if waiting:
            time.sleep(random.uniform(*POLL_SECONDS))  # noqa: S311 -- not a secret


def _is_usable(read: Read, key: bytes, accept: Callable[[bytes], bool]) -> bool:
    if accept(key):
        return True
    read.refuse(key)  # so that the loaded value may replace it
    return False
