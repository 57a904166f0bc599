"""Sessions of PostgreSQL that wait for each other."""

from django.db import connection


def sessions_that_wait_for_a_lock() -> int:
    """How many sessions of the test's database wait for a lock now."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with connection.cursor() as cursor:
        cursor.execute(waiting)
        [number] = cursor.fetchone()
        return int(number)
