"""Findings in plain words, for staff."""

from django.utils.translation import gettext as _

from apps.audit.models import AuditFinding, AuditRun, Kind


def finding_text(finding: AuditFinding, handle: str = "") -> str:
    """The violation in a sentence; `handle` is that of the affected account."""
    about = {"who": f"@{handle}" if handle else "?", "post": finding.post_id, **finding.details}
    texts = {
        Kind.MISSING: _(
            "A home page of %(who)s left out post %(post)s, which was delivered and belongs there."
        ),
        Kind.EXTRA: _("A home page of %(who)s showed post %(post)s, which did not belong there."),
        Kind.REPEATED: _("A home page of %(who)s showed post %(post)s twice."),
        Kind.ORDER: _("On a home page of %(who)s post %(post)s stood in the wrong place."),
        Kind.WINDOW: _("The window of %(who)s in Redis lacked post %(post)s."),
        Kind.UNDELIVERED: _("Post %(post)s was published, and its delivery had never begun."),
        Kind.STUCK: _("A piece of the delivery of post %(post)s was due, and nobody took it."),
        Kind.DEAD: _("A piece of the delivery of post %(post)s was given up after five tries."),
        Kind.MIRROR: _(
            "A follow by %(who)s stood in one of its two lists only: %(follower)s -> %(followee)s."
        ),
        Kind.COUNT: _(
            "%(number)s counts of %(counts)s in %(where)s were wrong; %(id)s had %(has)s instead of %(should)s."
        ),
    }
    try:
        return texts[Kind(finding.kind)] % about
    except KeyError:
        return str(finding)  # written by an older version of the site


def run_text(run: AuditRun) -> str:
    """What a run compared and found, in a line."""
    return _(
        "%(pages)d pages, %(windows)d windows, %(deliveries)d deliveries, %(follows)d follows and %(counts)d counts compared: "
        "%(violations)d violations, %(repaired)d repaired; %(late)d still on the way, %(settled)d right at the second look."
    ) % {
        name: getattr(run, name)
        for name in (
            "pages",
            "windows",
            "deliveries",
            "follows",
            "counts",
            "violations",
            "repaired",
            "late",
            "settled",
        )
    }
