"""Connections to PostgreSQL servers without which the site goes on."""

from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus


def connection_limited_to(seconds: float) -> type[psycopg.Connection[Any]]:
    """A class of connections that wait so long for an answer, and raise OperationalError then.

    PostgreSQL's own `statement_timeout` ends what is slow; a server that is frozen ends nothing.
    """

    class LimitedConnection(psycopg.Connection[Any]):
        def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
            try:
                return super().wait(gen, interval, seconds if timeout is None else timeout)
            except psycopg.OperationalError:
                if self.info.transaction_status is TransactionStatus.ACTIVE:
                    self.close()  # its answer may still come, to nobody
                raise

    return LimitedConnection
