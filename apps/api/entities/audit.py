"""The auditor's public report as JSON."""

from typing import Annotated, TypedDict

from django.conf import settings

from apps.api.entities.base import DateTime, optional_timestamp, timestamp
from apps.audit.models import AuditRound, Kind, Subject
from apps.audit.report import AuditReport


class FoundJson(TypedDict):
    """Mistakes of one kind within the last 24 hours."""

    kind: Annotated[str, Kind]
    found: int
    repaired: int


class SpeedJson(TypedDict):
    """Seconds from publication to delivery, for the newest deliveries of the last 24 hours; null if there were none."""

    delivered: Annotated[int, "The number of readers whom the measured deliveries reached."]
    p50_seconds: float | None
    p95_seconds: float | None


class BacklogJson(TypedDict):
    """The posts and deliveries that are waiting now."""

    posts: Annotated[
        int, "Posts whose delivery has not begun, or is not yet divided into chunks of followers."
    ]
    readers: Annotated[int, "Deliveries still to be made, one for each reader."]
    oldest_seconds: Annotated[float | None, "How long the oldest has waited; null if none waits."]


class RoundJson(TypedDict):
    """The progress of a check that works through a table in slices, and then starts over."""

    subject: Annotated[str, Subject]
    compared: Annotated[int, "Rows compared so far in this round."]
    began_at: DateTime
    last_ended_at: Annotated[
        DateTime | None, "When the last complete round ended; null during the first."
    ]
    last_seconds: Annotated[
        float | None, "Seconds of the last complete round, since the end of the round before."
    ]
    last_compared: int | None


class AuditDayJson(TypedDict):
    """The stored figures of a day (UTC). `p50` and `p95` are in seconds."""

    day: str
    figures: dict[str, float | None]


class AuditJson(TypedDict):
    """The auditor's comparisons and findings of the last 24 hours; `days` covers 90 days. No account is named."""

    made_at: DateTime
    runs: int
    last_run_at: DateTime | None
    figures: Annotated[
        dict[str, int],
        "Compared: `pages`, `windows` (home caches), `deliveries`, `receipts`, `follows`, `counts`, `cached` (values). "
        "Found: `violations`, of which `repaired`. "
        "Not violations: `late` (still being delivered) and `settled` (correct when checked again).",
    ]
    rounds: Annotated[list[RoundJson], "The progress of each check, and the duration of a round."]
    found: list[FoundJson]
    speed: SpeedJson
    backlog: BacklogJson
    version: str
    code_hash: Annotated[str, "Computed as `/audit` describes."]
    days: list[AuditDayJson]


def round_json(progress: AuditRound) -> RoundJson:
    return {
        "subject": progress.subject,
        "compared": progress.compared,
        "began_at": timestamp(progress.began_at),
        "last_ended_at": optional_timestamp(progress.ended_at),
        "last_seconds": progress.seconds,
        "last_compared": progress.total,
    }


def audit_json(report: AuditReport) -> AuditJson:
    return {
        "made_at": timestamp(report.made_at),
        "runs": report.runs,
        "last_run_at": optional_timestamp(report.last_run_at),
        "figures": dict(report.figures),
        "rounds": [round_json(progress) for progress in report.rounds],
        "found": [
            {"kind": kind.value, "found": found, "repaired": repaired}
            for kind, found, repaired in report.kinds
        ],
        "speed": {
            "delivered": report.speed["delivered"],
            "p50_seconds": report.speed["p50"],
            "p95_seconds": report.speed["p95"],
        },
        "backlog": {
            "posts": report.backlog["posts"],
            "readers": report.backlog["readers"],
            "oldest_seconds": report.backlog["oldest_seconds"],
        },
        "version": settings.VERSION,
        "code_hash": report.code_hash,
        "days": [{"day": row.day.isoformat(), "figures": row.figures} for row in report.days],
    }
