"""Real PostgreSQL servers for logical shards, a database of one's own to split, and commits that are cut in two."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, connections

from apps.graph.management import shards
from runner.services.postgres import NAME
from tests.support.waiting import wait_until

GATE = 5_005  # an advisory lock


def quiet(_line):
    """Nobody reads what a command reports."""


def address(server, name):
    return f"postgres://{NAME}@/{name}?host={server.sockets}"


@contextmanager
def copied_database(name):
    """Everything of this process goes to a copy of a database; other tests find the rows of the original as they were.

    No account gets a number that one of the other database had: caches may still know its posts.
    """
    last = _last_account()
    usual = connection.settings_dict["NAME"]
    params = connection.get_connection_params()
    connection.close()
    connections["default"].close_pool()  # type: ignore[attr-defined]  # of the wrapper for PostgreSQL
    template = usual.removesuffix("_shards")
    given = {"host": params["host"], "user": params["user"], "dbname": "postgres"}
    with psycopg.connect(**given, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {template}{name}")
        admin.execute(f"CREATE DATABASE {template}{name} TEMPLATE {template}")
    connection.settings_dict["NAME"] = f"{template}{name}"
    try:
        _number_accounts_after(last)
        yield
    finally:
        last = _last_account()
        connection.close()
        connections["default"].close_pool()  # type: ignore[attr-defined]  # as above
        connection.settings_dict["NAME"] = usual
        _number_accounts_after(last)


def _last_account():
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM accounts_user_id_seq")
        return cursor.fetchone()[0]


def _number_accounts_after(last):
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('accounts_user_id_seq', %s)", [last])


def split_and_spread(settings, *options):
    """Split what is not split yet; half of the shards are on east."""
    with closing(shards.connect()) as session:
        if not shards.shards(session):
            call_command("shards", "split", *options, verbosity=0)
            for name in settings.GRAPH_SHARDS:
                call_command("shards", "add", name, verbosity=0)
    for place, numbers in (("local", range(32)), ("east", range(32, 64))):
        list(shards.move(list(numbers), place, report=quiet))


def partitions(sql, params=None):
    """The shards that the plan of a statement contains, by the names of their tables."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
    text = plan if isinstance(plan, str) else json.dumps(plan)
    return set(_relations(json.loads(text)))


def _relations(node):
    if isinstance(node, dict):
        name = node.get("Relation Name", "")
        if re.fullmatch(r"(graph|posts)_\w+_\d\d", name):
            yield name
        for value in node.values():
            yield from _relations(value)
    elif isinstance(node, list):
        for each in node:
            yield from _relations(each)


@contextmanager
def slow_commit(place, table):
    """The server does not end its commits while somebody has the lock `GATE`."""
    with closing(shards.connect(place)) as remote:
        remote.execute(
            "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN PERFORM pg_advisory_xact_lock({GATE}); RETURN NULL; END $$"
        )
        remote.execute(
            f"CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE OR DELETE ON {table}"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()"
        )
        try:
            yield remote
        finally:
            remote.execute(f"DROP TRIGGER slow ON {table}")


def cut(change, remote):
    """Kill the connection of a change while the other server commits; that server goes on."""

    def run():
        try:
            change()
        finally:
            connections.close_all()

    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event = 'advisory'"
    )
    remote.execute(f"SELECT pg_advisory_lock({GATE})")
    try:
        with ThreadPoolExecutor(1) as pool, closing(shards.connect()) as admin:
            changing = pool.submit(run)
            wait_until(lambda: remote.execute(waiting).fetchone() == (1,), "the server commits")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND state = 'active' AND query = 'COMMIT'"
            )
            with pytest.raises(Exception, match="terminating connection"):
                changing.result(30)
    finally:
        remote.execute(f"SELECT pg_advisory_unlock({GATE})")
    wait_until(lambda: remote.execute(waiting).fetchone() == (0,), "the server has committed")
