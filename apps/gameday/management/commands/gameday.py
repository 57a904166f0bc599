"""`manage gameday`: lists the faults, and puts one of them into a staging site."""

import getpass
import json
import signal
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import asdict
from pathlib import Path
from typing import Any, Never

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import override

from apps.errors import DomainError
from apps.gameday.actions import SECONDS, begin, carry_out
from apps.gameday.alerts import alerts
from apps.gameday.cards import WHO, ReportCard, lines
from apps.gameday.faults import Fault, by_lot, fault_of, faults
from apps.gameday.staging import require_staging

EXAMPLES = """
Only for staging sites: set GAMEDAY (docs/gameday.md). A fault ends after its seconds, on Ctrl-C, and if this process is
killed. Exit code 1 if something that was expected did not hold.

examples:
  ./run manage gameday list                                the faults, their alerts, and what this site cannot have
  ./run manage gameday run --fault posts_locked --dry-run  what would happen
  ./run manage gameday run --fault posts_locked            ask, then do it
  ./run manage gameday run --lot --yes --json card.json    a fault chosen by lot, without a question
  ./run manage gameday run --fault redis_writes --seconds 180 --prometheus http://127.0.0.1:9090
"""
MARKS = {True: "held", False: "DID NOT HOLD", None: "not known"}
INTERRUPTED = 130


def _interrupt(*_: Any) -> Never:
    raise KeyboardInterrupt


class Command(BaseCommand):
    help = (
        "Put a fault into a staging site for a minute, and report what people and alerts noticed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("what", choices=["list", "run"], help="what to do")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--fault", metavar="NAME", help="run: this fault")
        chosen.add_argument("--lot", action="store_true", help="run: a fault chosen by lot")
        least, most = SECONDS
        parser.add_argument(
            "--seconds",
            type=int,
            metavar="N",
            help=f"run: how long the fault lasts, {least} to {most} (default: depends on the fault)",
        )
        parser.add_argument(
            "--prometheus",
            default="",
            metavar="URL",
            help="run: ask this Prometheus about the alert, instead of reading /metrics",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="run: only say what would happen"
        )
        parser.add_argument("--yes", action="store_true", help="run: do not ask")
        parser.add_argument("--json", metavar="FILE", help="run: write the report card into a file")

    def handle(self, *args: Any, **options: Any) -> None:
        with override("en"):
            try:
                (self._list if options["what"] == "list" else self._run)(options)
            except DomainError as refusal:
                raise CommandError(refusal.message) from None

    def _list(self, _options: dict[str, Any]) -> None:
        for fault in faults().values():
            self.stdout.write(f"{fault.name:<18}{fault.text}.")
            self.stdout.write(
                f"{'':<18}{fault.alert} within {fault.within:.0f} s; lasts {fault.seconds} s"
            )
            if reason := fault.why_not():
                self.stdout.write(f"{'':<18}Not on this site: {reason}")

    def _run(self, options: dict[str, Any]) -> None:
        if not (options["fault"] or options["lot"]):
            raise CommandError("Name a fault with --fault NAME, or choose one with --lot.")
        require_staging()
        fault = by_lot() if options["lot"] else fault_of(options["fault"])
        seconds = fault.seconds if options["seconds"] is None else options["seconds"]
        self._explain(fault, seconds)
        if options["dry_run"]:
            return
        question = f"Put this fault into {settings.SITE_URL} now? [y/N] "
        if not options["yes"] and input(question).strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was done.")
        row = begin(fault, seconds=seconds, by=getpass.getuser(), by_lot=options["lot"])
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            card = carry_out(row, prometheus=options["prometheus"], report=self.stdout.write)
        except KeyboardInterrupt:
            self.stderr.write("The game day was broken off, and the fault was undone.")
            raise SystemExit(INTERRUPTED) from None
        if card is None:
            raise CommandError("Another process has begun this game day.")
        stored = {**asdict(card), "passed": card.passed}
        if options["json"]:
            Path(options["json"]).write_text(json.dumps(stored, indent=2) + "\n")
        self._print(card, lines(stored))
        if not card.passed:
            raise SystemExit(1)

    def _explain(self, fault: Fault, seconds: int) -> None:
        alert = alerts()[fault.alert]
        self.stdout.write(f"Fault:      {fault.name}: {fault.text}, for {seconds} s")
        self.stdout.write(
            f"Alert:      {alert.name} ({alert.severity}); its condition holds within {fault.within:.0f} s,"
            f" and it fires after {alert.for_seconds} s more"
        )
        for who, text in WHO.items():
            self.stdout.write(f"{'May fail' if who in fault.may_fail else 'Must work'}:  {text}")
        self.stdout.write(f"Runbook:    {alert.runbook}")

    def _print(self, card: ReportCard, sentences: list[tuple[str, bool | None]]) -> None:
        alert = card.alert
        self.stdout.write(f"\nReport card: {card.fault}, {card.seconds} s")
        for sentence, held in sentences:
            self.stdout.write(f"  {MARKS[held]:<13} {sentence}")
        held_after, fired_after = (
            "never" if seconds is None else f"after {seconds} s"
            for seconds in (alert.held_after, alert.fired_after)
        )
        self.stdout.write(
            f"  {alert.name}: condition held {held_after}, fired {fired_after} (rule: after {alert.for_seconds} s);"
            f" asked: {alert.asked}"
        )
        for who, found in card.requests.items():
            share = "-" if found.availability is None else f"{found.availability:.1%}"
            self.stdout.write(
                f"  {who:<8} {found.number} requests, availability {share}, p95 {found.p95} s"
                f" (before: {found.p95_before} s)"
            )
        self.stdout.write(
            f"  posts: {card.accepted} accepted, {card.lost} lost, {card.undelivered} not delivered"
        )
        recovered = (
            "not in time" if card.recovery_seconds is None else f"after {card.recovery_seconds} s"
        )
        self.stdout.write(
            f"  recovered {recovered}; checks that failed: {', '.join(card.failed_checks) or 'none'}"
        )
        self.stdout.write(f"  runbook: {alert.runbook}")
