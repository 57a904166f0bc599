"""The run, once the servers are up and Django is set up: rounds of API and form requests, each with new people."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from tools.fuzz.api import ApiCases
from tools.fuzz.cases import Case
from tools.fuzz.forms import FormCases
from tools.fuzz.population import populate
from tools.fuzz.sender import FAILED, Senders
from tools.fuzz.site import Site

ROUND = 5000  # requests between two populations
FORMS_SHARE = 0.35
LINE_SECONDS = 30.0  # between two lines of progress without a terminal
THREADS = 6


def _document() -> dict[str, Any]:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # of the library
    found: dict[str, Any] = json.loads(OpenApiJsonRenderer().render(schema))
    return found


@dataclass(frozen=True)
class Options:
    requests: int
    seed: int
    processes: int


class Fuzz:
    def __init__(self, options: Options, site: Site, console: Console) -> None:
        self._options, self._site, self._console = options, site, console
        self._senders = Senders(site.ports, THREADS)
        self._api = ApiCases(_document(), options.seed)
        self._forms = FormCases(options.seed)
        self._begun = time.monotonic()
        self._line_at = self._begun
        self._died: list[str] = []

    def run(self) -> bool:
        """Send everything and report. Returns whether something failed."""
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )
        with Progress(
            *columns, console=self._console, transient=True, disable=not self._console.is_terminal
        ) as bar:
            task = bar.add_task("requests", total=self._options.requests)
            number = 0
            while (
                left := self._options.requests - self._senders.results.total
            ) > 0 and not self._died:
                self._senders.send_all(self._told(self._round(number, min(ROUND, left)), bar, task))
                self._died = self._site.died()
                number += 1
        return self._report()

    def _round(self, number: int, many: int) -> Iterator[Case]:
        people = populate(number)
        connection.close()  # each round may start in another thread: the connection returns to the pool
        forms = int(many * FORMS_SHARE)
        each = max(1, (many - forms) // len(self._api.operations))
        yield from self._forms.of_round(number, forms, people, self._senders.fetch)
        yield from self._api.of_round(number, each, people)

    def _told(self, cases: Iterator[Case], bar: Progress, task: TaskID) -> Iterator[Case]:
        for case in cases:
            done = self._senders.results.total
            if done >= self._options.requests:
                return
            bar.update(task, completed=done, description=f"{self._failed()} failures")
            now = time.monotonic()
            if not self._console.is_terminal and now - self._line_at > LINE_SECONDS:
                self._line_at = now
                rate = done / (now - self._begun)
                left = (self._options.requests - done) / rate / 60
                self._console.print(
                    f"{done:,} of {self._options.requests:,} requests, {rate:.0f} a second, {self._failed()} failures,"
                    f" about {left:.0f} min left"
                )
            yield case

    def _failed(self) -> int:
        return self._senders.results.failed.total()

    def _report(self) -> bool:
        results, print_ = self._senders.results, self._console.print
        seconds = time.monotonic() - self._begun
        table = Table(
            title=f"{results.total:,} requests in {seconds:.0f} s, seed {self._options.seed}",
            title_justify="left",
        )
        table.add_column("answer")
        table.add_column("requests", justify="right")
        for status, number in sorted(results.statuses.items()):
            table.add_row("no answer" if status == FAILED else str(status), f"{number:,}")
        print_(table)
        print_(
            f"{len(self._api.operations)} operations of the API, {self._forms.pages} pages, {self._forms.forms} forms;"
            f" 503 with Retry-After: {results.unavailable}"
        )
        origin = f"http://127.0.0.1:{self._site.ports[0]}"
        for (label, status), number in results.failed.most_common():
            print_(f"\n[bold]{number} x {status or 'no answer'}[/] {escape(label)}")
            for case in results.failures[label, status]:
                print_(case.curl(origin), markup=False, highlight=False, soft_wrap=True)
        for line in self._site.tracebacks() if results.failed else []:
            print_(line, markup=False, highlight=False, soft_wrap=True)
        for line in self._died:
            print_(f"[bold]{escape(line)}[/]")
        print_(f"{results.failed.total()} failures, {len(self._died)} processes died")
        return bool(results.failed or self._died)
