"""`manage events`: prints each event, its payload, and its subscribers in the order in which they run."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from inspect import getdoc
from typing import Any

from django.core.management.base import BaseCommand

from apps.events.actions import EVENTS, Handler, handlers_of

HEAD = """# Events

Events carry changes from one app to the apps above it. An event is recorded in the transaction of the change, with a
row for each subscriber. A row that has failed five times is a dead letter, which staff can retry or discard
([architecture.md](architecture.md)). Subscribers run in the order listed below; each may run more than once.

`./run manage events > docs/events.md` writes this page; a test fails when it is out of date.
"""
EXAMPLES = """
examples:
  ./run manage events                        print all events
  ./run manage events > docs/events.md       write the page of the documentation
"""


class Command(BaseCommand):
    help = "Print each event with its payload and its subscribers, as Markdown."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES

    def handle(self, *_args: Any, **_options: Any) -> None:
        self.stdout.write("\n".join(document()))


def document() -> Iterator[str]:
    """The lines of docs/events.md."""
    yield HEAD
    yield "| event | payload | subscribers |"
    yield "|---|---|---|"
    for name, payload in EVENTS.items():
        subscribers = "<br>".join(_described(*one) for one in handlers_of(name).items())
        yield f"| `{name}` | {payload} | {subscribers or 'none'} |"


def _described(subscriber: str, handler: Handler) -> str:
    """The dotted name of a subscriber, and the first line of its docstring."""
    said = (getdoc(handler) or "").partition("\n")[0]
    return f"`{subscriber.removeprefix('apps.')}`{': ' if said else ''}{said}"
