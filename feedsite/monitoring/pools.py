"""The pools of database connections of this process: how often one was asked for, and how long that took."""

from django.db import connections

from feedcache import stats

# psycopg_pool's names -> names and texts of the metrics.
METRICS = {
    "requests_num": ("requests", "Connections that were asked for."),
    "requests_queued": ("waits", "Requests that waited because all connections were taken."),
    "requests_wait_ms": ("wait_seconds", "For how long."),
    "requests_errors": ("timeouts", "Requests that waited in vain; the answer was 503."),
    "usage_ms": ("busy_seconds", "For how long connections were in use."),
}
MILLISECONDS = frozenset({"requests_wait_ms", "usage_ms"})


def count() -> None:
    """Count what the pools did since the last call. Called about once a second."""
    for alias in connections:
        pool = getattr(connections[alias], "pool", None)
        if pool is not None:
            found = pool.pop_stats()
            numbers = {name: int(found[name]) for name in METRICS if found.get(name)}
            stats.count(stats.POOL + alias, numbers)
