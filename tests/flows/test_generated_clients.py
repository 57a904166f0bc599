"""Clients generated from the OpenAPI document work on a real site, and two judges have nothing to say of it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from drf_spectacular.generators import SchemaGenerator

from apps.accounts.actions import issue_token
from tests.support import npm

pytestmark = [pytest.mark.flows, pytest.mark.long]

PLACE = Path(__file__).parent / "generated"
INSTALL_SECONDS = 300
CALLS = 40


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The file of the document."""
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    file.write_text(json.dumps(SchemaGenerator().get_schema(public=True)))
    return file


@pytest.fixture(scope="module")
def tools():
    """The folder of the programs of npm."""
    npm.node()
    return npm.installed(PLACE, ".bin", seconds=INSTALL_SECONDS)


def run(*command, cwd, **environment):
    """What a program prints; it must not fail."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.django_db(transaction=True)
def test_a_python_client_imports_whole_and_works(served, document, tmp_path, alice, bob):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"package_name_override": "feedsite_client", "post_hooks": []}))
    run(
        sys.executable, "-m", "openapi_python_client", "generate", "--path", document, "--meta", "none",
        "--output-path", tmp_path / "feedsite_client", "--config", config, cwd=tmp_path,
    )  # fmt: skip
    said = json.loads(
        run(sys.executable, PLACE / "calls.py", served, issue_token(alice, name="x"), bob.pk,
            cwd=tmp_path, PYTHONPATH=str(tmp_path))
    )  # fmt: skip
    assert said["modules"] > len(json.loads(document.read_text())["paths"])
    assert said["calls"] >= CALLS
    assert {key: said[key] for key in ("edited", "favourite", "unfavourite", "bookmark", "unbookmark")} == {
        "edited": "<p>Edited.</p>", "favourite": True, "unfavourite": False, "bookmark": True, "unbookmark": False
    }  # fmt: skip
    assert (said["answer"], said["descendants"], said["history"]) == (True, 1, 2)
    assert (said["source"], said["deleted"]) == ("Edited.", "Edited.")
    assert (said["follow"], said["list"], said["unfollow"]) == (True, True, False)
    assert (said["me"], said["lookup"], said["search"]) == ("alice", True, "bob")


@pytest.mark.django_db(transaction=True)
def test_a_typescript_client_compiles_and_works(served, tools, document, tmp_path, alice, bob):
    (tmp_path / "node_modules").symlink_to(tools.parent)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "calls.ts").write_text((PLACE / "calls.ts").read_text())
    run(tools / "openapi-typescript", document, "-o", "schema.d.ts", cwd=tmp_path)
    run(
        tools / "tsc", "calls.ts", "--strict", "--target", "es2022", "--module", "nodenext",
        "--types", "node", "--skipLibCheck", cwd=tmp_path,
    )  # fmt: skip
    token = issue_token(alice, name="x")
    said = json.loads(run(npm.node(), "calls.js", served, token, str(bob.pk), cwd=tmp_path))
    assert said.pop("calls") >= CALLS
    assert said == {
        "content": "<p>By a generated client.</p>",
        "edited": "<p>Edited.</p>",
        "favourited": True,
        "unfavourited": False,
        "bookmarked": True,
        "descendants": 1,
        "history": 2,
        "source": "Edited.",
        "following": True,
        "members": [str(bob.pk)],
        "unfollowed": False,
        "me": "alice",
        "found": str(bob.pk),
        "search": "bob",
    }


def test_spectral_has_nothing_to_say(tools, document):
    streams = PLACE.parents[2] / "docs" / "asyncapi.yaml"
    rules = ["--ruleset", PLACE / "spectral.yaml", "--fail-severity", "hint"]
    said = run(tools / "spectral", "lint", document, streams, *rules, cwd=PLACE)
    assert "No results" in said


def test_redocly_has_nothing_to_say(tools, document):
    options = ["--config", PLACE / "redocly.yaml", "--format", "json"]
    found = re.search(
        r"\{.*\}", run(tools / "redocly", "lint", document, *options, cwd=PLACE), re.DOTALL
    )
    assert found
    assert json.loads(found[0])["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}
