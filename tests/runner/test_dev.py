"""`./run dev` on a copy of the checkout: what is edited there is seen without starting it again."""

import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from http.client import HTTPException
from pathlib import Path

import pytest

from runner import identity, packages
from runner.checkout import ROOT
from runner.processes import MARK, child_setup
from tests.runner.onlookers import processes_naming
from tests.runner.test_site import START_SECONDS, environment
from tests.support.ports import free_port
from tests.support.waiting import wait_until

PARTS = (
    "apps", "feedcache", "feedsite", "runner", "templates", "static", "locale", "manage.py", "serve.py", "run",
    "requirements.txt", "requirements-dev.txt",
)  # fmt: skip

pytestmark = [
    pytest.mark.skipif(
        not packages._fingerprints(development=True) <= packages._stamps(Path(sys.prefix)),
        reason="these packages were not installed by ./run, which would install them now",
    ),
    pytest.mark.flows,
]


@pytest.fixture
def checkout(place):
    """A copy, to be edited."""
    copy = place / "checkout"
    copy.mkdir()
    for part in PARTS:
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / part)
    return copy


@pytest.fixture
def site(place, checkout):
    """The address of `./run dev` there, and the file of its output."""
    port, output = str(free_port()), place / "output"
    command = [str(checkout / "run"), "dev", "--demo", "none", "--workers", "1", "--port", port]
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, env=environment(place), cwd=place, stdout=file, stderr=file, start_new_session=True,
            preexec_fn=child_setup(signal.SIGTERM),  # noqa: PLW1509 -- no threads here
        )  # fmt: skip
    wait_until(lambda: "is ready" in output.read_text(), output.read_text, seconds=START_SECONDS)
    yield f"http://127.0.0.1:{port}", output
    process.send_signal(signal.SIGINT)
    process.wait(60)
    wait_until(lambda: processes_naming(place) == [], "everything has ended")


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def read(url):
    """Nothing while the server that was asked is being stopped."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()
    except (OSError, HTTPException):
        return ""


def own_processes(place):
    """The names of the site's own processes, with their ids."""
    pids = identity.processes_with(f"{MARK}={place / 'data'}")
    names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}
    return {
        name: pid for pid, name in names.items() if name in {"web", "streaming", "worker", "beat"}
    }


def test_a_template_a_style_a_view_and_a_model_are_live(place, checkout, site):
    url, output = site
    assert "Skip to content" in read(f"{url}/about")

    edit(checkout / "templates/_skip.html", '{% translate "Skip to content" %}', "Edited template")
    assert "Edited template" in read(f"{url}/about")

    (sheet,) = re.findall(r"/static/css/app[^\"]*\.css", read(f"{url}/about"))
    with (checkout / "static/css/app.css").open("a") as file:
        file.write(".edited { color: red }\n")
    assert ".edited" in read(f"{url}{sheet}")

    before = own_processes(place)
    view = checkout / "feedsite/files/static_pages.py"
    edit(view, '{"here": "about"}', '{"here": "about", "site_name": "Edited view"}')
    wait_until(lambda: "Edited view" in read(f"{url}/about"), output.read_text)
    wait_until(lambda: "restarted in" in output.read_text(), output.read_text)
    after = own_processes(place)
    assert set(after) == set(before) == {"web", "streaming", "worker", "beat"}
    assert [name for name in after if after[name] == before[name]] == []

    edit(view, "Edited view", "Never seen\n")  # the string does not end
    told = r"The old code keeps running:(\n.*)+static_pages.py.*(\n.*)+SyntaxError: unterminated string"
    wait_until(lambda: re.search(told, output.read_text()), output.read_text)
    assert "Edited view" in read(f"{url}/about")
    edit(view, '"Never seen\n"', "Tag.NICKNAME")
    edit(view, "\nfrom ", "\nfrom apps.tags.models import Tag\nfrom ")
    edit(checkout / "apps/tags/models.py", "class Tag(models.Model):", NEW_FIELD)
    wait_until(lambda: "Edited model" in read(f"{url}/about"), output.read_text)
    told = "+ Add field nickname to tag\nWrite it with: ./run manage makemigrations\n"
    wait_until(lambda: told in output.read_text(), output.read_text)


NEW_FIELD = """class Tag(models.Model):
    NICKNAME = "Edited model"
    nickname = models.CharField(max_length=9, default="")
"""
