"""A real web server and a Celery worker with beat, as separate processes, on the tests' own servers."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

from django.db import connection

from runner import programs
from runner.checkout import MANAGE
from runner.programs import QUEUES
from tests.support.ports import free_port
from tests.support.waiting import wait_until


def start_worker(directory, app="feedsite", **settings):
    """Start a worker on the test database and wait until it takes tasks."""
    log = directory / "worker.log"
    command = [sys.executable, "-m", "celery", "-A", app, "worker", "-B", "-s", str(directory / "beat"),
               "-Q", QUEUES, "--pool", "prefork", "-c", "1", "-l", "INFO"]  # fmt: skip
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            env={**environment(), **settings},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _wait_for_start(process, lambda: " ready." in log.read_text(), log)
    return process


def start_web(directory, **settings):
    """Start a web server on the test database. Returns the process and its address once it answers."""
    log, port = directory / "web.log", free_port()
    command = programs.web(host="127.0.0.1", port=port)
    address = f"http://127.0.0.1:{port}"
    env = {**environment(), "SITE_URL": address, **settings}
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env=env, stdout=output, stderr=output, start_new_session=True
        )
    _wait_for_start(process, lambda: _answers(address), log)
    return process, address


def call(address, token="", method="GET", **fields):
    """The status and the body of a response; `fields` are sent as JSON."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = json.dumps(fields).encode() if fields else None
    request = urllib.request.Request(address, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _wait_for_start(process, is_ready, log):
    try:
        wait_until(lambda: is_ready() or process.poll() is not None, log.read_text)
        assert process.poll() is None, log.read_text()
    except BaseException:
        stop(process)
        raise


def _answers(address):
    try:
        with urllib.request.urlopen(f"{address}/healthz/live", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def manage(*words, **settings):
    """Run a command of manage.py on the test database and return its output. The command must succeed."""
    done = subprocess.run(
        [sys.executable, "-P", MANAGE, *words],
        env={**environment(), **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment():
    """The environment of the tests, with the database that pytest-django made."""
    name = connection.settings_dict["NAME"]
    url = re.sub(r"/[^/?]+\?", f"/{name}?", os.environ["DATABASE_URL"])
    return {
        **os.environ,
        "DATABASE_URL": url,
        "DATABASE_POOL_MAX": "4",
        "CACHE_TOPOLOGY_LISTENS": "1",
    }


def stop(process, number=signal.SIGTERM):
    """End a process and its process group."""
    if process.poll() is None:
        os.killpg(process.pid, number)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def freeze(pid):
    """Send SIGSTOP to a child and wait until it has stopped; until then one of its threads may still answer."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
