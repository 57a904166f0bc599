"""`manage whatif`: what another policy, more followers or the loss of Redis would cost, without doing it."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import override

from apps.accounts.queries import user_by_handle
from apps.errors import DomainError
from apps.timeline.fanout import what_if
from apps.timeline.fanout.what_if import PROCESSES
from feedcache.connections import RedisError

EXAMPLES = """
Policies are push (everybody), online (those with a home cache), pull (nobody: read with every page), and auto or
hybrid (whichever costs least). Nothing is changed: that is `manage policy set`. The work is counted as the site does
it, for the followers, posts and reads of the last week; what each piece takes was measured by
`./run bench timeline --only units` (apps/timeline/fanout/unit_costs.py). The last line says how far off the same
arithmetic was for the last real delivery.

examples:
  ./run manage whatif author alice --followers 1000000      as many followers, under the same policy
  ./run manage whatif author alice --policy pull            another policy, for the followers of today
  ./run manage whatif author alice --followers 1000000 --policy hybrid --json
  ./run manage whatif site --policy pull                    for all authors without a policy of their own
  ./run manage whatif --lose-redis                          all home caches are gone: how many rebuilds, how long
  ./run manage whatif --lose-redis --servers 4              those of one of four servers
  ./run manage whatif --lose-redis --readers 300000         if there were so many readers with a home cache
"""
POLICIES = ("push", "online", "pull", "auto", "hybrid")
MAX_NUMBER = 10**9


class Command(BaseCommand):
    help = (
        "Say what a policy, a number of followers or the loss of Redis would cost. Changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("subject", nargs="*", metavar="SUBJECT", help="author HANDLE, or site")
        parser.add_argument("--followers", type=int, metavar="N", help="instead of those of today")
        parser.add_argument("--policy", choices=POLICIES, help="instead of the one in force")
        parser.add_argument(
            "--lose-redis", action="store_true", help="the Redis of the home caches starts empty"
        )
        parser.add_argument(
            "--servers", type=int, default=1, metavar="N",
            help="one of so many servers of home caches is lost (default: the only one)",
        )  # fmt: skip
        parser.add_argument(
            "--readers", type=int, metavar="N", help="with a home cache (default: they are counted)"
        )
        parser.add_argument(
            "--processes", type=int, default=PROCESSES, metavar="N",
            help=f"of workers, and of the web (default: {PROCESSES})",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the forecast; CommandError for what makes no sense, unknown accounts, and without Redis."""
        _check(options)
        with override("en"):
            try:
                report, rows = _lost(options) if options["lose_redis"] else _changed(options)
            except DomainError as refusal:
                raise CommandError(refusal.message) from None
            except RedisError as error:
                raise CommandError(f"Redis does not answer: {error}") from None
        self.stdout.write(json.dumps(report) if options["json"] else _text(rows))


def _check(options: dict[str, Any]) -> None:
    """CommandError for what does not go together, or is out of range."""
    subject, followers = options["subject"], options["followers"]
    change = followers is not None or options["policy"]
    of_redis = options["servers"] != 1 or options["readers"] is not None
    lost = options["lose_redis"]
    refusals = (
        (lost and (subject or change),
         "--lose-redis stands alone: no author, followers or policy with it."),
        (not lost and of_redis, "--servers and --readers belong to --lose-redis."),
        (not lost and subject[:1] == ["author"] and len(subject) != 2,
         "Which author? As in: whatif author alice --policy pull"),
        (not lost and subject[:1] != ["author"] and subject != ["site"],
         "What if what? author HANDLE, site, or --lose-redis; see --help."),
        (not lost and not change, "What should be different? --followers N, --policy P, or both."),
        (subject == ["site"] and followers is not None, "--followers belongs to an author."),
    )  # fmt: skip
    for refused, text in refusals:
        if refused:
            raise CommandError(text)
    for name, least in (("followers", 0), ("readers", 0), ("servers", 1), ("processes", 1)):
        number = options[name]
        if number is not None and not least <= number <= MAX_NUMBER:
            raise CommandError(f"--{name} is a number from {least} to {MAX_NUMBER}.")


def _changed(options: dict[str, Any]) -> tuple[dict[str, Any], list[Sequence[str]]]:
    """What is, and what would be."""
    author, processes = None, options["processes"]
    if options["subject"] == ["site"]:
        audience = what_if.audience_of_site()
    else:
        author = user_by_handle(options["subject"][1].removeprefix("@"))
        audience = what_if.audience_of(author)
    policy = {"hybrid": "auto", None: audience.mode.value}.get(options["policy"], options["policy"])
    changed = audience
    if options["followers"] is not None:
        changed = what_if.with_followers(audience, options["followers"])
    now = what_if.forecast(audience, audience.mode, processes=processes)
    then = what_if.forecast(changed, policy, processes=processes)
    last = what_if.last_delivery(author, processes=processes)
    report = {
        "now": _json(now),
        "then": _json(then),
        "last_delivery": last
        and {**asdict(last), "post_id": str(last.post_id), "error": last.error},
    }
    rows: list[Sequence[str]] = [("", "now", "then")]
    rows += [(label, *values) for label, values in what_if.table([now, then])]
    rows += [(f"auto: {then.reason}",)] if then.reason else []
    return report, [*rows, (what_if.error_text(last),)]


def _json(one: what_if.Forecast) -> dict[str, Any]:
    days = {
        "push_seconds_a_day": one.push_seconds_a_day,
        "pull_seconds_a_day": one.pull_seconds_a_day,
    }
    return {**asdict(one), **days}


def _lost(options: dict[str, Any]) -> tuple[dict[str, Any], list[Sequence[str]]]:
    lost = what_if.lose_redis(
        readers=options["readers"], servers=options["servers"], processes=options["processes"]
    )
    rows: list[Sequence[str]] = [(label, *values) for label, values in what_if.rebuilds_table(lost)]
    if not lost.readers:
        rows.append(
            ("No home cache was found. In a Redis Cluster they are not counted: --readers N.",)
        )
    return asdict(lost), rows


def _text(rows: Sequence[Sequence[str]]) -> str:
    """Columns below each other; a row of one cell is a sentence."""
    cells = [row for row in rows if len(row) > 1]
    widths = [max(len(row[n]) for row in cells) for n in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        if len(row) > 1
        else row[0]
        for row in rows
    )
