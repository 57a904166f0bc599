"""The site behind PgBouncer in transaction mode, as deploy/pgbouncer.ini has it:
each statement may meet another connection.
"""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psycopg
import pytest
from django.db import connection

from apps.accounts.actions import issue_token
from feedsite.management.commands import migrate
from tests.flows import proxies
from tests.support.factories import make_user, publish
from tests.support.processes import environment, start_web, stop

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not proxies.program("pgbouncer"), reason="no pgbouncer on this machine"),
    pytest.mark.clusters,
    pytest.mark.flows,
]
PEOPLE, ROUNDS, AT_ONCE = 4, 12, 8
PATHS = ("accounts/verify_credentials", "timelines/home", "notifications", "timelines/public")


@pytest.fixture
def pooler(transactional_db, tmp_path):
    """The URL of the test's database through the pooler."""
    given = connection.settings_dict
    name, host = given["NAME"], given["HOST"] or given["OPTIONS"]["host"]
    with proxies.pgbouncer(tmp_path, host=host, database=name, user=given["USER"]) as port:
        yield f"postgres://{given['USER']}@127.0.0.1:{port}/feedsite"


@pytest.fixture
def limited(settings):
    """The role has its time-outs from the migration, as `manage.py migrate` gives them."""
    settings.DATABASE_TIMEOUTS = {"statement_timeout": 700, "lock_timeout": 500}
    migrate.set_timeouts_of_role(connection)
    yield
    with connection.cursor() as cursor:
        name = connection.settings_dict["NAME"]
        cursor.execute(f'ALTER ROLE feedsite IN DATABASE "{name}" RESET ALL')


@pytest.fixture
def site(pooler, tmp_path, monkeypatch):
    patient = {"WEB_QUEUE_SECONDS": "20"}  # a busy machine is no refusal
    there = {**environment(), **patient, "DATABASE_URL": pooler, "DATABASE_POOLER": "transaction"}
    monkeypatch.setattr("tests.support.processes.environment", lambda: there)
    process, address = start_web(tmp_path)
    yield address
    stop(process)


def get(address, token):
    asked = Request(address, headers={"Authorization": f"Bearer {token}"})
    try:
        with urlopen(asked, timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, error.read()


def test_every_answer_is_of_the_token_that_asked(site):
    tokens = {}
    for number in range(PEOPLE):
        person = make_user(f"person{number}")
        publish(person, f"By {person.handle}.")
        tokens[person.handle] = issue_token(person, name="test")

    def ask(number):
        handle = f"person{number % PEOPLE}"
        path = PATHS[number // PEOPLE % len(PATHS)]
        status, body = get(f"{site}/api/v1/{path}", tokens[handle])
        whose = body["username"] if path == PATHS[0] and status == 200 else handle
        own = [one["content"] for one in body] if path == "timelines/home" and status == 200 else []
        return status, whose == handle and own in ([], [f"<p>By {handle}.</p>"])

    with ThreadPoolExecutor(AT_ONCE) as crowd:
        answers = Counter(crowd.map(ask, range(PEOPLE * len(PATHS) * ROUNDS)))
    assert answers == {(200, True): PEOPLE * len(PATHS) * ROUNDS}


def test_a_statement_is_ended_behind_the_pooler_too(pooler, limited):
    with psycopg.connect(pooler, autocommit=True, prepare_threshold=None) as client:
        assert client.execute("SHOW statement_timeout").fetchone() == ("700ms",)
        assert client.execute("SHOW lock_timeout").fetchone() == ("500ms",)
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute("SELECT pg_sleep(20)")


def test_no_cursor_outlives_its_transaction(settings):
    """A server-side cursor belongs to a connection that the next statement may not meet."""
    assert connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] is True
