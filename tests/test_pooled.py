"""A pooled connection is asked seldom whether it is there; a real statement always tells."""

import time

import psycopg
import pytest
from django.db import connection

from feedsite.pooled import PooledConnection

pytestmark = pytest.mark.django_db


@pytest.fixture
def pooled():
    options = connection.get_connection_params()
    kept = {name: options[name] for name in ("dbname", "user", "password", "host", "port") if options.get(name)}  # fmt: skip
    with PooledConnection.connect(**kept, autocommit=True) as found:
        yield found


def end(pooled):
    with connection.cursor() as sql:
        sql.execute("SELECT pg_terminate_backend(%s)", [pooled.info.backend_pid])
    time.sleep(0.2)


def test_it_is_asked_once_a_second_at_most(pooled):
    pooled.execute("")
    end(pooled)
    pooled.execute("")  # nobody was asked
    pooled._asked_at -= 1.1
    with pytest.raises(psycopg.OperationalError):
        pooled.execute("")


def test_the_first_question_is_asked(pooled):
    end(pooled)
    with pytest.raises(psycopg.OperationalError):
        pooled.execute("")


def test_statements_go_to_the_server(pooled):
    pooled.execute("")
    assert pooled.execute("SELECT 42").fetchone() == (42,)
    end(pooled)
    with pytest.raises(psycopg.OperationalError):
        pooled.execute("SELECT 42")
