"""A whole game day at a real web server and a real worker."""

import json
import signal
import subprocess
import sys

import pytest
from django.db import connection

from apps.gameday.models import Run
from apps.posts.models import Post
from runner.checkout import MANAGE
from tests.support.processes import environment, start_web, start_worker, stop
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.flows, pytest.mark.django_db(transaction=True)]

TOKEN = "only-for-tests-which-need-one-that-is-long-enough"
LOCKED = """
SELECT count(*) FROM pg_locks
WHERE relation = 'posts_post'::regclass AND mode = 'ShareRowExclusiveLock' AND granted
"""


@pytest.fixture
def site(tmp_path_factory, transactional_db):
    """The settings with which a command joins a site of a web server and a worker."""
    directory = tmp_path_factory.mktemp("site")
    given = {"METRICS_TOKEN": TOKEN, "GAMEDAY": "1"}
    worker = start_worker(directory, **given)
    web, address = start_web(directory, **given)
    yield {**given, "SITE_URL": address}
    stop(web)
    stop(worker)


def gameday(site, *words):
    command = [
        sys.executable,
        "-P",
        MANAGE,
        "gameday",
        "run",
        "--fault",
        "posts_locked",
        "--yes",
        *words,
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={**environment(), **site}, **pipes)


def is_locked():
    with connection.cursor() as sql:
        sql.execute(LOCKED)
        return sql.fetchone()[0] == 1


def test_a_report_card(site, tmp_path):
    file = tmp_path / "card.json"
    process = gameday(site, "--seconds", "20", "--json", str(file))
    wait_until(is_locked, "the fault has begun")
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, output + errors
    assert not is_locked()
    card = json.loads(file.read_text())
    assert card == Run.objects.get().card
    assert card["passed"]
    assert card["requests"]["author"]["failed"] > 0  # the fault was real
    assert card["requests"]["member"]["failed"] == 0
    assert (
        0 < card["accepted"] <= Post.objects.count()
    )  # a post may be published after its author has given up
    assert card["alert"]["held_after"] > 5  # the site's own limit for locks is ten seconds
    assert "RequestsFailing" in output


def test_one_that_is_broken_off_is_undone(site):
    process = gameday(site, "--seconds", "60")
    wait_until(is_locked, "the fault has begun")
    process.send_signal(signal.SIGINT)
    _output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert not is_locked()
    assert "undone" in errors
    row = Run.objects.get()
    assert row.ended_at
    assert row.card is None


def test_without_access_to_the_figures_nothing_happens(site):
    process = gameday({**site, "METRICS_TOKEN": "another"}, "--seconds", "60")
    _output, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "METRICS_TOKEN" in errors
    assert not Post.objects.exists()
