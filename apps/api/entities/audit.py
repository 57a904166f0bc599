"""The public report of the auditor as JSON."""

from typing import Annotated, TypedDict

from django.conf import settings

from apps.api.entities.base import DateTime, optional_timestamp, timestamp
from apps.audit.models import Kind
from apps.audit.report import AuditReport


class FoundJson(TypedDict):
    """Mistakes of one kind within the last 24 hours."""

    kind: Annotated[str, Kind]
    found: int
    repaired: int


class SpeedJson(TypedDict):
    """Seconds from publication to delivery, of the newest deliveries of the last 24 hours; null without any."""

    delivered: Annotated[int, "Readers."]
    p50_seconds: float | None
    p95_seconds: float | None


class BacklogJson(TypedDict):
    """What waits now."""

    posts: Annotated[int, "Whose delivery has not begun, or whose followers are not all listed."]
    readers: Annotated[int, "Deliveries to followers."]
    oldest_seconds: Annotated[float | None, "For how long the oldest has waited; null without any."]


class AuditDayJson(TypedDict):
    """A day (UTC) as it was kept. `p50` and `p95` are in seconds."""

    day: str
    figures: dict[str, float | None]


class AuditJson(TypedDict):
    """What was compared and found within the last 24 hours, and 90 days. It names nobody."""

    made_at: DateTime
    runs: int
    last_run_at: DateTime | None
    figures: Annotated[
        dict[str, int],
        "Compared: `pages`, `windows` (home caches), `deliveries`, `follows`, `counts`. Found: `violations`, of which "
        "`repaired`; `late` and `settled` are none.",
    ]
    found: list[FoundJson]
    speed: SpeedJson
    backlog: BacklogJson
    version: str
    code_hash: Annotated[str, "As `/audit` says how to compute it."]
    days: list[AuditDayJson]


def audit_json(report: AuditReport) -> AuditJson:
    return {
        "made_at": timestamp(report.made_at),
        "runs": report.runs,
        "last_run_at": optional_timestamp(report.last_run_at),
        "figures": dict(report.figures),
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
