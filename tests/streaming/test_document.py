"""docs/asyncapi.yaml names the streams and the events that there are."""

import ast
from pathlib import Path

import pytest
import yaml

from apps.streaming import queries
from apps.streaming.resuming import MISSED
from apps.streaming.streams import NAMES

DOCS = Path(__file__).resolve().parents[2] / "docs"
BY_HUB = {"update", "status.update"}  # chosen there by what was announced


@pytest.fixture(scope="module")
def schemas():
    return yaml.safe_load((DOCS / "asyncapi.yaml").read_text())["components"]["schemas"]


def events_of_code():
    """The names that `StreamEvent`s are made with."""
    calls = [
        node
        for node in ast.walk(ast.parse(Path(queries.__file__).read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "StreamEvent"
    ]
    assert len(calls) > 6
    return {call.args[2].value for call in calls if isinstance(call.args[2], ast.Constant)}


def test_it_names_every_stream(schemas):
    assert schemas["Stream"]["enum"] == sorted(NAMES)


def test_it_and_the_page_for_programmers_name_every_event(schemas):
    expected = events_of_code() | BY_HUB | {MISSED}
    assert schemas["EventName"]["enum"] == sorted(expected)
    page = (DOCS / "api.md").read_text()
    assert [name for name in expected if f"`{name}`" not in page] == []
