"""The log: an object a line for programs, a line for each request, and a file that may be renamed."""

import json
import logging
import os
import subprocess
import sys

import pytest
from django.conf import settings as configured
from django.test import override_settings

from apps.http.request_id import request_id
from feedsite.checks import check_logs
from feedsite.monitoring.logs import JSONFormatter, RequestIdFilter

SCRIPT = """
import logging, os, django
django.setup()
logger = logging.getLogger("apps.test")
logger.error("first %s", 1)
name = os.environ.get("LOG_FILE")
if name:
    os.rename(name, name + ".1")
logger.error("second")
"""


@pytest.fixture
def entries():
    """What is logged, as programs read it."""
    found = []

    class Handler(logging.Handler):
        def emit(self, record):
            found.append(json.loads(self.format(record)))

    handler = Handler()
    handler.setFormatter(JSONFormatter())
    handler.addFilter(RequestIdFilter())
    logging.getLogger().addHandler(handler)
    yield found
    logging.getLogger().removeHandler(handler)


def test_an_entry_says_when_who_and_in_which_request(entries):
    token = request_id.set("0123456789abcdef")
    try:
        logging.getLogger("apps.test").warning("%s of %s\nlines", 1, 2)
    finally:
        request_id.reset(token)
    [entry] = entries
    assert entry["time"].endswith("+00:00")
    assert (entry["level"], entry["logger"]) == ("WARNING", "apps.test")
    assert entry["message"] == "1 of 2\nlines"
    assert entry["request_id"] == "0123456789abcdef"
    assert entry["process"] == os.getpid()
    assert "exception" not in entry


def test_an_exception_stays_in_its_entry(entries):
    try:
        int("why")
    except ValueError:
        logging.getLogger("apps.test").exception("it failed")
    [entry] = entries
    assert entry["message"] == "it failed"
    assert entry["exception"].endswith("literal for int() with base 10: 'why'")


@pytest.mark.django_db
def test_a_request_is_one_line_without_what_opens_doors(entries, client, settings):
    settings.ACCESS_LOG = True
    answer = client.get("/about?key=secret")
    missed = client.get("/nowhere")
    client.get("/email/confirm/very-secret")
    client.get("/static/css/app.css")
    client.get("/healthz/live")
    lines = [entry for entry in entries if entry["logger"] == "feedsite.access"]
    assert [(one["method"], one["path"], one["status"]) for one in lines] == [
        ("GET", "/about", 200),
        ("GET", "/nowhere", 404),
        ("GET", "/email/confirm/<str:token>", 404),
    ]
    told = [one for one in entries if one["message"] == "Not Found: /nowhere"]
    assert told[0]["request_id"] == lines[1]["request_id"] == missed.headers["X-Request-Id"]
    assert lines[0]["request_id"] == answer.headers["X-Request-Id"]
    assert lines[0]["ms"] > 0
    assert lines[0]["class"] in configured.WEB_CONCURRENCY
    assert "secret" not in json.dumps(lines)


@pytest.mark.django_db
def test_without_the_setting_there_is_no_line(entries, client):
    client.get("/about")
    assert [entry for entry in entries if entry["logger"] == "feedsite.access"] == []


def logged(**environment):
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stderr


@pytest.mark.long
def test_a_process_writes_objects_or_lines_by_its_environment():
    lines = logged(LOG_FORMAT="json").splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["first 1", "second"]
    first, _second = logged(LOG_FORMAT="line").splitlines()
    assert first.endswith("ERROR apps.test [-] first 1")


@pytest.mark.long
def test_a_file_that_was_renamed_is_begun_anew(tmp_path):
    file = tmp_path / "site.log"
    assert logged(LOG_FORMAT="json", LOG_FILE=str(file)) == ""
    assert "first 1" in (tmp_path / "site.log.1").read_text()
    assert json.loads(file.read_text())["message"] == "second"


def test_a_form_that_nobody_knows_and_a_file_in_no_folder_stop_the_start(tmp_path):
    with override_settings(LOG_FORMAT="xml"):
        assert [one.id for one in check_logs()] == ["feedsite.E027"]
    for file in (tmp_path / "no" / "site.log", tmp_path):
        with override_settings(LOG_FILE=str(file)):
            assert [one.id for one in check_logs()] == ["feedsite.E028"]
    with override_settings(LOG_FILE=str(tmp_path / "site.log"), LOG_FORMAT="json"):
        assert check_logs() == []
