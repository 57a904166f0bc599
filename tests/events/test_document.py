"""docs/events.md is what `manage events` prints."""

from io import StringIO

from django.core.management import call_command

from apps.events.actions import EVENTS, handlers_of, subscribers
from runner.checkout import ROOT

DOCUMENT = ROOT / "docs" / "events.md"


def printed():
    out = StringIO()
    call_command("events", stdout=out)
    return out.getvalue()


def test_the_page_is_up_to_date():
    assert DOCUMENT.read_text() == printed(), "./run manage events > docs/events.md writes it"


def test_it_has_every_event_and_every_subscriber_in_order():
    text = printed()
    for name in EVENTS:
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        places = [row.index(f"`{one.removeprefix('apps.')}`") for one in handlers_of(name)]
        assert places == sorted(places)
        assert set(subscribers(name)) <= set(handlers_of(name))


def test_every_event_has_a_subscriber():
    assert [name for name in EVENTS if not handlers_of(name)] == []
