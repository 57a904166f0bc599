import pytest

from apps.events import actions


@pytest.fixture
def subscribe(monkeypatch):
    """`subscribe(function)`: the only subscriber of "blocked", for the length of a test."""

    def put(function):
        monkeypatch.setitem(actions._handlers, "blocked", {"tests.handler": function})
        return "blocked"

    return put
