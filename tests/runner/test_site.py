"""The whole site: one start to the end, with every process really running."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from runner import identity, packages
from runner.checkout import ROOT
from runner.processes import MARK, child_setup
from runner.testing import SERVER_SETTINGS
from tests.runner.onlookers import processes_naming
from tests.support.ports import free_port
from tests.support.services import SETTINGS
from tests.support.waiting import wait_until

START_SECONDS = 120  # a bound, no promise: a busy machine migrates slowly

pytestmark = [
    pytest.mark.skipif(
        not packages._fingerprints(development=False) <= packages._stamps(Path(sys.prefix)),
        reason="these packages were not installed by ./run, which would install them now",
    ),
    pytest.mark.flows,
]


def environment(place):
    """That of a person's shell: without what the tests export for themselves."""
    unwanted = {*SERVER_SETTINGS, *SETTINGS, "MEDIA_ROOT", "STATIC_ROOT"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "FEEDSITE_DATA_DIR": str(place / "data"), "FEEDSITE_VENV": sys.prefix}


def run(place, *arguments, **options):
    return subprocess.run(
        [str(ROOT / "run"), *arguments],
        env=environment(place), cwd=place, capture_output=True, text=True, check=False, timeout=180, **options,
    )  # fmt: skip


@pytest.fixture
def start(place):
    started = []

    def start_site(port):
        output = (place / "output").open("wb")
        process = subprocess.Popen(
            [str(ROOT / "run"), "--demo", "none", "--workers", "1", "--port", port],
            env=environment(place), cwd=place, stdout=output, stderr=output, start_new_session=True,
            preexec_fn=child_setup(signal.SIGTERM),  # noqa: PLW1509 -- no threads here
        )  # fmt: skip
        output.close()
        started.append(process)
        text = place / "output"
        wait_until(
            lambda: "is ready" in text.read_text(),
            lambda: f"the site is ready: {text.read_text()}",
            seconds=START_SECONDS,
        )
        return process

    yield start_site
    for process in started:
        process.kill()
        process.wait()
    wait_until(lambda: processes_naming(place) == [], "everything has ended")


def status(port, path="/healthz/ready"):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def ours(place):
    return identity.processes_with(f"{MARK}={place / 'data'}")


def test_the_site_starts_serves_survives_and_leaves_nothing(place, start):
    port = str(free_port())
    site = start(port)
    assert status(port) == 200

    second = run(place, "--port", str(free_port()))
    assert (second.returncode, second.stdout) == (1, "")
    assert (
        second.stderr
        == f"feedsite is already running (pid {site.pid}) at http://127.0.0.1:{port}\n"
    )

    joined = run(
        place,
        "manage",
        "shell",
        "-c",
        "import sys; print(sys.stdin.read()[::-1]); sys.exit(7)",
        input="abc",
    )
    assert joined.returncode == 7
    assert joined.stdout.split()[-1] == "cba"

    web = next(pid for pid in ours(place) if Path(f"/proc/{pid}/comm").read_text() == "web\n")
    os.kill(web, signal.SIGKILL)
    wait_until(lambda: status(port) == 200 and web not in ours(place), "another web server answers")

    site.kill()
    site.wait()
    wait_until(lambda: ours(place) == [] and processes_naming(place) == [], "everything has ended")
    assert status(port) == 0

    again = start(port)
    secret = (place / "data" / "secret_key").read_text()
    assert json.loads((place / "data" / "environment.json").read_text())["SECRET_KEY"] == secret
    again.send_signal(signal.SIGINT)
    assert again.wait(40) == 0
    assert (place / "output").read_text().splitlines()[-1].startswith("Stopped in ")
    assert ours(place) == []
    assert sorted(Path("/proc").glob(f"{again.pid}/task/*")) == []


def test_a_taken_port_is_told_before_anything_is_made(place):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = run(place, "--port", str(port))
    assert done.returncode == 1
    assert done.stderr.startswith(f"Port {port} is in use; try --port ")
    assert done.stdout == ""
    assert not (place / "data").exists()


def test_manage_without_a_site_brings_its_own_servers_and_takes_them_along(place):
    done = run(place, "manage", "migrate", "--check")
    assert done.returncode == 0, done.stderr  # a new site has its tables before the first command
    assert ours(place) == []
    assert not (place / "data" / "site.json").exists()
    assert run(place, "reset", "--yes").returncode == 0
    assert not (place / "data").exists()
