"""toot, unmodified: what people type."""

import json

import pytest

from tests.factories import PASSWORD, deliver, publish
from tests.flows.clients import Toot


@pytest.fixture
def toot(tmp_path):
    return Toot(tmp_path)


def test_somebody_logs_in_with_a_browser_and_looks_around(served, toot, alice, bob):
    publish(alice, "What alice says.")
    deliver()
    assert "Successfully logged in" in toot.log_in(bob, served)
    assert "@bob" in toot("whoami")
    assert "bob@" in toot("auth")
    shown = json.loads(toot("post", "Typed by hand.", "--json"))
    assert shown["content"] == "<p>Typed by hand.</p>"
    home = toot("timeline", "-1")
    assert "What alice says." in home
    assert "Typed by hand." in home
    thread = toot("thread", shown["id"])
    assert "Typed by hand." in thread
    assert "Rill" in toot("instance")


def test_somebody_logs_in_with_a_password(served, toot, with_password):
    said = toot("login_cli", "-i", served, "-e", "alice@example.org", "-p", PASSWORD)
    assert "Successfully logged in" in said
    assert "@alice" in toot("whoami")
