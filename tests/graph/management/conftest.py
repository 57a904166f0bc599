"""A second PostgreSQL, and a copy of the database that a module may split."""

import psycopg
import pytest

from runner.services.postgres import NAME, THROWAWAY, Postgres
from tests.support.shards import address, copied_database


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A second PostgreSQL, with a database for each of three servers of the settings."""
    directory = tmp_path_factory.mktemp("shards")
    server = Postgres(directory / "data", directory, directory, options=THROWAWAY)
    server.start()
    with psycopg.connect(address(server, NAME), autocommit=True) as admin:
        for name in ("east", "west", "north"):
            admin.execute(f"CREATE DATABASE {name}")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def _own_database(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), copied_database("_shards"):
        yield


@pytest.fixture
def plain(_own_database, transactional_db):
    """The tables before they are split."""
    with copied_database("_plain"):
        yield
