"""`manage replay`: recompute a period of an account's home and compare it with pages and caches, for bug reports."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.audit.comparison.replay import replay
from apps.audit.explain import explain
from apps.audit.management.commands.explain import rule
from apps.audit.own_page.code_version import code_version
from apps.errors import DomainError, NotFound
from apps.pagination import parse_moment
from apps.timeline import policy
from feedcache.connections import RedisError
from feedcache.ids import second_of

EXAMPLES = """
Compares four versions of the same timeline: the tables now, the pages now, the caches in Redis now, and the home page
at the end of the period, from the history of follows, mutes and blocks. Exit code 1 if pages or caches are wrong.

The output contains ids and reasons but no text of posts, so it can be attached to a bug report.

examples:
  ./run manage replay alice                                            the last 24 hours
  ./run manage replay alice --from 2026-11-20 --to 2026-11-21
  ./run manage replay alice --from 2026-11-20T12:00 --to 2026-11-20T13:00 --json
"""


class Command(BaseCommand):
    help = (
        "Recompute a period of an account's home from rows, and compare it with pages and caches."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("reader", metavar="READER", help="the handle of the reader")
        parser.add_argument(
            "--from", dest="since", help="UTC, ISO 8601 (default: a day before the end)"
        )
        parser.add_argument("--to", dest="until", help="UTC, ISO 8601 (default: now)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the report; exit with code 1 if pages or caches are wrong.

        Raises CommandError for an unknown account, a bad time or period, or if Redis does not respond.
        """
        try:
            viewer = user_by_handle(options["reader"].removeprefix("@"))
            until = _moment(options["until"], "--to", timezone.now())
            since = _moment(options["since"], "--from", until - timedelta(days=1))
            found = replay(viewer, since, until)
        except DomainError as refusal:
            raise CommandError(refusal.message) from None
        except RedisError as error:
            raise CommandError(f"Redis is not available: {error}") from None
        sets = {
            "tables": found.expected,
            "pages": found.shown,
            "then": found.then,
            "cached": found.cached,
        }
        report = {
            "reader": viewer.pk,
            "from": since.isoformat(),
            "to": until.isoformat(),
            "code": code_version(),
            "policies": policy.refresh().version,
            "home_cache": found.is_cached,
            **{name: len(ids) for name, ids in sets.items()},
            "missing_in_cache": len(found.lacking),
            "late": found.late,
            "right": found.is_right,
            "posts": [
                {
                    "id": str(post_id),
                    "in": [name for name, ids in sets.items() if post_id in ids],
                    "why": _reason(viewer, post_id),
                }
                for post_id in found.differing
            ],
        }
        hours = {name: Counter(map(_hour, ids)) for name, ids in sets.items()}
        self.stdout.write(json.dumps(report) if options["json"] else _text(report, hours))
        if not found.is_right:
            raise SystemExit(1)


def _moment(text: str | None, name: str, default: datetime) -> datetime:
    return parse_moment(text, name) if text else default


def _hour(post_id: int) -> str:
    return f"{datetime.fromtimestamp(second_of(post_id), UTC):%Y-%m-%d %H:00}"


def _reason(viewer: User, post_id: int) -> str:
    try:
        return explain(viewer, post_id).text
    except NotFound:
        return f"not visible: {rule(viewer.pk, post_id)}"


def _text(report: dict[str, Any], hours: dict[str, Counter[str]]) -> str:
    lines = [f"{name}: {value}" for name, value in report.items() if name != "posts"]
    lines.append("hour (UTC)          tables  pages   then  cached")
    for hour in sorted({hour for counts in hours.values() for hour in counts}, reverse=True):
        numbers = [hours[name][hour] for name in ("tables", "pages", "then", "cached")]
        mark = "" if numbers[0] == numbers[1] else "   <- differs"
        lines.append(f"{hour}    {numbers[0]:6}{numbers[1]:7}{numbers[2]:7}{numbers[3]:8}{mark}")
    lines += [
        f"{post['id']}  in {', '.join(post['in']) or 'none'}: {post['why']}"
        for post in report["posts"]
    ]
    return "\n".join(lines)
