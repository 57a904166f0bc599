"""This process's pools of database connections: how often a connection was requested, and how long that took."""

from django.db import connections

from feedcache import stats

# psycopg_pool's names -> names and texts of the metrics.
METRICS = {
    "requests_num": ("requests", "Requests for a connection."),
    "requests_queued": ("waits", "Requests that waited because all connections were taken."),
    "requests_wait_ms": ("wait_seconds", "Seconds that requests waited for a connection."),
    "requests_errors": ("timeouts", "Requests without a connection in time; they got 503."),
    "usage_ms": ("busy_seconds", "Seconds that connections were in use."),
}
MILLISECONDS = frozenset({"requests_wait_ms", "usage_ms"})


def count() -> None:
    """Add to the counts what the pools have recorded since the last call. Called about once a second."""
    for alias in connections:
        pool = getattr(connections[alias], "pool", None)
        if pool is not None:
            found = pool.pop_stats()
            numbers = {name: int(found[name]) for name in METRICS if found.get(name)}
            stats.count(stats.POOL + alias, numbers)
