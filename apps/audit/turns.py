"""One turn of the auditor while it runs: what it counted and found."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from apps.audit.models import AuditFinding, AuditRun, Kind

logger = logging.getLogger(__name__)

MAX_FINDINGS = 200  # of a turn: who finds more has one cause to look for, not thousands


@dataclass
class AuditPass:
    """One turn while it runs."""

    run: AuditRun = field(default_factory=AuditRun)
    findings: list[AuditFinding] = field(default_factory=list)

    def found(self, kind: Kind, repair: Callable[[], bool], **about: Any) -> None:
        """A violation: note it, repair it, and note whether that helped."""
        self.run.violations += 1
        fixed = _attempt(repair)
        self.run.repaired += fixed
        if len(self.findings) < MAX_FINDINGS:
            when = timezone.now() if fixed else None
            self.findings.append(AuditFinding(kind=kind, repaired_at=when, **about))
        logger.error("audit: %s %s, %s", kind, about, "repaired" if fixed else "not repaired")


def _attempt(repair: Callable[[], bool]) -> bool:
    try:
        return repair()
    except Exception:
        logger.exception("audit: a repair failed")
        return False
