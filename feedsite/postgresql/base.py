"""The backend's `base` module, which Django loads (https://docs.djangoproject.com/en/5.2/ref/databases/#subclassing-the-built-in-database-backends)."""

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base, features
from psycopg_pool import ConnectionPool

from apps.sql import is_distributed


class DatabaseFeatures(features.DatabaseFeatures):
    @property
    def supports_foreign_keys(self) -> bool:  # type: ignore[override]  # an attribute in the base class
        """False on a distributed site, where rows of different accounts cannot refer to each other."""
        return not is_distributed(self.connection)


class DatabaseWrapper(base.DatabaseWrapper):
    """The backend, whose pool never hands out a connection that the server has closed.

    Django's own test (`CONN_HEALTH_CHECKS`) costs a round trip per request. This one queries the server only if the
    socket is readable. It is readable after the server has closed the connection, but not while the connection is idle.
    """

    features_class = DatabaseFeatures

    def get_new_connection(self, conn_params: dict[str, Any]) -> psycopg.Connection[Any]:
        """A working connection. Raises `psycopg_pool.PoolTimeout` if the pool does not have one in time."""
        while True:
            connection: psycopg.Connection[Any] = super().get_new_connection(conn_params)
            if not self.pool or _works(connection):
                return connection
            connection.close()
            self.pool.putconn(connection)  # the pool replaces it with a new one


def _works(connection: psycopg.Connection[Any]) -> bool:
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if not poll.poll(0):
        return True
    try:
        ConnectionPool.check_connection(connection)
    except psycopg.OperationalError:
        return False
    return True
