"""Connections to optional PostgreSQL servers, without which the site keeps running."""

from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus


def connection_limited_to(seconds: float) -> type[psycopg.Connection[Any]]:
    """A class of connections that raise OperationalError after waiting this long for a response.

    PostgreSQL's own `statement_timeout` ends slow statements, but a frozen server never responds.
    """

    class LimitedConnection(psycopg.Connection[Any]):
        def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
            try:
                return super().wait(gen, interval, seconds if timeout is None else timeout)
            except psycopg.OperationalError:
                if self.info.transaction_status is TransactionStatus.ACTIVE:
                    self.close()  # a late response must not be read as that of the next statement
                raise

    return LimitedConnection
