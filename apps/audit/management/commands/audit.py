"""`manage audit`: compare the pages and caches of the site with the tables now."""

import json
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Sum

from apps.accounts.queries import handles_of, user_by_handle
from apps.audit import auditor
from apps.audit.comparison.explanations import compare
from apps.audit.comparison.pages import Sample, differences, missing_in_windows
from apps.audit.models import FIGURES, AuditFinding, AuditRun, accounts_of, finding_text, run_text
from apps.errors import DomainError
from apps.pagination import MAX_LIMIT, Cursor
from apps.timeline.home import home_timeline
from feedcache.connections import RedisError

MAX_PAGES = 200
EXAMPLES = """
Beat runs the auditor every ten seconds. It compares pages that were shown, windows in Redis, deliveries,
follows and counts with the tables, and repairs differences. Exit code 1 when there are violations.

examples:
  ./run manage audit run                    one run now, with its report
  ./run manage audit run --turns 20         twenty runs; later runs check differences again
  ./run manage audit status                 the totals of all runs, and the newest findings in plain words
  ./run manage audit explain --pairs 10000  explain random pairs of reader and post, and compare with the tables
  ./run manage audit viewer alice           walk all pages of @alice's home and compare each with the oracle
"""


class Command(BaseCommand):
    help = (
        "Compare pages, windows, deliveries, follows and counts with the tables, and repair them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        verbs = parser.add_subparsers(dest="verb", metavar="WHAT", required=True)
        run = verbs.add_parser("run", help="run the auditor once or several times")
        run.add_argument("--turns", type=int, default=1, help="number of runs (default: 1)")
        verbs.add_parser("status", help="show the findings of all runs")
        pairs = verbs.add_parser(
            "explain", help="explain random pairs of reader and post; read-only"
        )
        pairs.add_argument("--pairs", type=int, default=1000, help="number (default: 1000)")
        pairs.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
        viewer = verbs.add_parser("viewer", help="check all pages of one account's home; read-only")
        viewer.add_argument("handle", help="the handle of the account")
        viewer.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the subcommand, and exit with code 1 after violations.

        Raises CommandError if Redis is not available or the account does not exist.
        """
        verbs = {
            "run": self._run,
            "status": self._status,
            "viewer": self._viewer,
            "explain": self._explain,
        }
        act = verbs[options["verb"]]
        try:
            violations = act(options)
        except DomainError as refusal:
            raise CommandError(refusal.message) from None
        except RedisError as error:
            raise CommandError(f"Redis is not available: {error}") from None
        if violations:
            raise SystemExit(1)

    def _run(self, options: dict[str, Any]) -> int:
        violations = 0
        for _turn in range(options["turns"]):
            run = auditor.run_once()
            violations += run.violations
            self.stdout.write(run_text(run))
            self._write_findings(run.findings.all())
        return violations

    def _status(self, _options: dict[str, Any]) -> int:
        sums = AuditRun.objects.aggregate(**{name: Sum(name, default=0) for name in FIGURES})
        self.stdout.write(f"{AuditRun.objects.count()} runs. {run_text(AuditRun(**sums))}")
        self._write_findings(AuditFinding.objects.order_by("-pk")[:20])
        return 0

    def _viewer(self, options: dict[str, Any]) -> int:
        viewer = user_by_handle(options["handle"])
        cursor, pages, items, wrong, late = Cursor(limit=MAX_LIMIT), 0, 0, [], 0
        while pages < MAX_PAGES:
            now, page = time.time(), home_timeline(viewer, cursor)
            pages, items = pages + 1, items + len(page.items)
            found = differences(Sample.of_page(viewer.pk, now, cursor, page))
            late += sum(difference.late for difference in found)
            wrong += [
                {"what": difference.kind.value, "post": str(difference.post_id)}
                for difference in found
                if not difference.late
            ]
            if page.older is None:
                break
            cursor = Cursor(max_id=page.older, limit=MAX_LIMIT)
        missing, _late = missing_in_windows(viewer.pk)
        wrong += [{"what": "window", "post": str(post_id)} for post_id in missing]
        report = {"pages": pages, "posts": items, "on_the_way": late, "wrong": wrong}
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            self.stdout.write(
                f"@{viewer.handle}: {pages} pages, {items} posts compared; {late} on the way, {len(wrong)} wrong."
            )
            for one in wrong:
                self.stdout.write(f"  {one['what']}: {one['post']}")
        return len(wrong)

    def _explain(self, options: dict[str, Any]) -> int:
        sources, wrong = Counter[str](), 0
        for outcome in compare(options["pairs"], seed=options["seed"]):
            sources[outcome.reason] += 1
            if outcome.fault:
                wrong += 1
                pair = f"@{outcome.viewer.handle} {outcome.post_id}"
                self.stdout.write(f"  {pair}: explained as {outcome.reason}, but {outcome.fault}")
        reasons = ", ".join(f"{source} {number}" for source, number in sources.most_common())
        self.stdout.write(f"{sources.total()} pairs, {wrong} wrong: {reasons}.")
        return wrong

    def _write_findings(self, findings: Any) -> None:
        found = list(findings)
        names = handles_of(accounts_of(found))
        for finding in found:
            fixed = "repaired" if finding.repaired_at else "NOT repaired"
            self.stdout.write(
                f"  {finding.found_at:%Y-%m-%d %H:%M:%S}  {finding_text(finding, names)} ({fixed})"
            )
