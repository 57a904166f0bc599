"""The publish request of an author with ten followers and of one with 100,000, which should take the same work.

The request returns before the post is delivered (source 001).
"""

import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from apps.accounts.actions import issue_token
from apps.events.models import Event
from feedcache.connections import timelines
from tools.bench.measure import Spread, ratio
from tools.bench.report import Line
from tools.bench.timeline.people import CROWD, SMALL, author

WARM, ROUNDS = 10, 120
WITHIN = 0.2


def run(_directory: Path) -> list[Line]:
    """Requests of both in turn, through the site's own API; then their requests to PostgreSQL and Redis."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    sizes = (SMALL, CROWD)
    programs = {size: _program(size) for size in sizes}
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(WARM + ROUNDS):
        for size in sizes:
            begin = time.perf_counter()
            _publish(programs[size])
            if number >= WARM:
                taken[size].append((time.perf_counter() - begin) * 1e3)
    small, crowd = (Spread.of(taken[size]) for size in sizes)
    asked = {size: (_statements(programs[size]), _commands(programs[size])) for size in sizes}
    statements, commands = asked[CROWD]
    times = ratio(crowd, small)
    Event.objects.all().delete()  # nobody delivers these; otherwise the next part would start with a backlog
    return [
        Line(
            f"publish request, {CROWD:,} followers",
            "ms",
            crowd,
            {f"{SMALL} followers": small},
            f"within {WITHIN:.0%} of the time for {SMALL} followers, with the same work",
            abs(times - 1) <= WITHIN and asked[SMALL] == asked[CROWD],
            f"{times:.2f} times; {statements} SQL statements and {commands} Redis commands; with {SMALL} followers:"
            f" {asked[SMALL][0]} and {asked[SMALL][1]}",
        )
    ]


def _program(followers: int) -> APIClient:
    program = APIClient()
    token = issue_token(author(followers), name="bench")
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return program


def _publish(program: APIClient) -> None:
    answer = program.post("/api/v1/statuses", {"status": "Just a few words."})
    if answer.status_code != 200:
        raise RuntimeError(f"not published: {answer.status_code}")


def _statements(program: APIClient) -> int:
    with CaptureQueriesContext(connection) as queries:
        _publish(program)
    return len(queries)


def _commands(program: APIClient) -> int:
    """The commands by the server's own count; the broker is the same server."""
    client: Any = timelines()
    before = client.info("stats")["total_commands_processed"]
    _publish(program)
    return int(client.info("stats")["total_commands_processed"] - before - 1)
