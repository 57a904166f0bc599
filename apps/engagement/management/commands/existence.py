"""`manage existence status|rebuild|capacity`: shows, rebuilds and sizes the existence filters."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.engagement.cache import LIKES
from apps.engagement.marks import FILTERS
from apps.engagement.rebuild import MODELS, Outcome, rebuild
from feedcache.connections import RedisError, existence
from feedcache.redis_clients import may_evict
from feedcache.structures import bloom
from feedcache.structures.bloom import Marks, capacity_report, fills

STEP_SECONDS = 5
PAUSE_SECONDS = 0.5


class Command(BaseCommand):
    help = (
        "Show how full and how precise the existence filters are, rebuild them, or plan their size."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("status", help="show the state, load and size of the filters")
        rebuild_parser = verbs.add_parser(
            "rebuild", help="build new filters from the rows; until then, use the old ones"
        )
        rebuild_parser.add_argument("kind", nargs="?", choices=[marks.kind for marks in MODELS])
        capacity_parser = verbs.add_parser(
            "capacity",
            help="compare the space that a given number of records takes in different stores",
        )
        capacity_parser.add_argument("records", type=int, help="number of records")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["verb"] == "status":
                self._status()
            elif options["verb"] == "rebuild":
                for marks in MODELS:
                    if options["kind"] in {None, marks.kind}:
                        self._rebuild(marks)
            else:
                self._capacity(options["records"])
        except RedisError as error:
            raise CommandError(
                f"The Redis of the existence filters does not answer: {error}"
            ) from None

    def _status(self) -> None:
        if may_evict(existence()):
            self.stdout.write(
                "This Redis may evict keys: every loss costs a rebuild. Use noeviction."
            )
        for marks in FILTERS.values():
            state = bloom.read_state(marks.name)
            word = "ready" if state.live else "not ready, the database answers"
            building = ", a new one is being built" if state.building else ""
            self.stdout.write(f"{marks.name}: {word}{building}; promises {marks.sizing.rate:.3%}")
            for fill in fills(marks, state.live) if state.live else ():
                self.stdout.write(
                    f"  segment {fill.segment}: {fill.records:,} of {marks.sizing.capacity:,} records, "
                    f"{fill.rate:.3%} false positives, {fill.layers} layers, {fill.bytes_used:,} bytes"
                )

    def _rebuild(self, marks: Marks) -> None:
        outcome = rebuild(marks, seconds=STEP_SECONDS, restart=True)
        while outcome is not Outcome.DONE:
            self.stdout.write(f"{marks.kind}: {outcome.value}")
            time.sleep(0 if outcome is Outcome.UNFINISHED else PAUSE_SECONDS)
            outcome = rebuild(marks, seconds=STEP_SECONDS)
        self.stdout.write(f"{marks.kind}: rebuilt")

    def _capacity(self, records: int) -> None:
        for name, size in capacity_report(records, LIKES.sizing.bytes_per_record).items():
            self.stdout.write(f"{size / 1e9:>14,.3f} GB  {name}")
