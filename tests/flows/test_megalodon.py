"""megalodon, a library for several kinds of sites, unmodified: it detects what this site is, and makes its calls."""

import json
import subprocess
from pathlib import Path

import pytest

from apps.accounts.actions import issue_token
from tests.support import npm
from tests.support.factories import delivered
from tests.support.pictures import picture

pytestmark = pytest.mark.flows

PLACE = Path(__file__).parent / "megalodon"
SESSION_SECONDS = 120
CALLS = 100
# What it calls although Mastodon lacks it, too, and what docs/api.md says this site refuses.
REFUSED = {"getIdentityProof": 404, "blockDomain": 422}


@pytest.fixture(scope="module")
def node():
    """The interpreter, once the library is there as its lock file has it."""
    program = npm.node()
    npm.installed(PLACE, "megalodon")
    return program


def test_it_detects_the_site_and_nothing_fails_that_should_not(served, tmp_path, node, alice, bob):
    delivered(bob, "@alice hello", to=[alice])
    (tmp_path / "square.png").write_bytes(picture())
    token = issue_token(alice, name="megalodon")
    done = subprocess.run(
        [node, "session.mjs", served, token, str(bob.pk), str(tmp_path / "square.png")],
        cwd=PLACE, capture_output=True, text=True, timeout=SESSION_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said.pop("calls") >= CALLS
    assert said == {
        "detected": "mastodon",
        "failed": REFUSED,
        "me": "alice",
        "relationships": 2,
        "found": ["bob"],
        "members": [str(bob.pk)],
        "posted": ["Hello #river", ["A red square"]],
        "edited": "Changed #river",
        "bookmarks": [True],
        "descendants": [True],
        "tagged": [True],
        "marker": True,
        "notifications": ["mention", "follow"],
        "accounts": ["bob"],
        "weeks": 12,
    }
