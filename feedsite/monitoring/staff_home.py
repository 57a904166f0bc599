"""The first staff page: problems, pending work, and the admin's lists, grouped by task."""

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.audit.models import AuditFinding
from apps.events.leases import State
from apps.events.models import Event
from apps.moderation.hooks import WAITING
from apps.moderation.models import Report
from apps.operations.queries import node_statuses, topology_in_force
from apps.posts.models import ScheduledPost, Transcode
from apps.timeline.models import Backfill, BackfillChunk, FanoutChunk, FanoutJob
from feedsite.monitoring.health import current_state

MAX_COUNTED = 100
FULL = 0.9  # a disk is reported if a larger share of it is in use
# Checks of `health` that have separate lines here.
TOLD = {"audit", "dead letters", "deliveries", "memcached"}
DEAD = "?state__exact=dead"
# The apps of each group; an app that is in none of the groups is shown in the last one.
TASKS = (
    (
        gettext_lazy("People"),
        ("moderation", "strikes", "spam", "sign_ups", "accounts", "auth", "oauth", "privacy"),
    ),
    (
        gettext_lazy("Posts"),
        ("posts", "tags", "search", "feeds", "filters", "engagement", "notifications"),
    ),
    (gettext_lazy("Follows"), ("graph",)),
    (gettext_lazy("Promoted posts"), ("promotions",)),
    (gettext_lazy("Delivery"), ("timeline", "events", "ranking")),
    (gettext_lazy("Servers and audits"), ()),
)


class Line(NamedTuple):
    """A sentence, and the page on which to act, if any. `is_bad`: something is broken, and not merely waiting."""

    text: str
    url: str = ""
    is_bad: bool = False


def index(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
    context = {
        **admin.site.each_context(request),
        "title": _("Waiting for staff"),
        "lines": sorted(what_waits(request), key=lambda line: not line.is_bad),
        "tasks": tasks(admin.site.get_app_list(request)),
        "service_level": _address("operations_service_level"),
        **(extra_context or {}),
    }
    return TemplateResponse(request, "admin/index.html", context)


def what_waits(request: HttpRequest) -> Iterator[Line]:
    """The lines that the reader has permission for. Each source has a bounded cost."""
    sources: tuple[tuple[str, Callable[[], Iterator[Line]]], ...] = (
        ("moderation.view_report", _reports),
        ("timeline.view_fanoutjob", _late_deliveries),
        ("events.view_event", _dead_letters),
        ("audit.view_auditfinding", _findings),
        ("operations.view_cachenode", _servers),
    )
    for permission, lines in sources:
        if request.user.has_perm(permission):
            yield from lines()


def tasks(apps: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The admin's lists that a member of staff may open, by group."""
    group_of = {label: str(name) for name, labels in TASKS for label in labels}
    groups: dict[str, list[dict[str, Any]]] = {str(name): [] for name, _labels in TASKS}
    for app in apps:
        groups[group_of.get(app["app_label"], str(TASKS[-1][0]))] += app["models"]
    return [(name, models) for name, models in groups.items() if models]


def _reports() -> Iterator[Line]:
    rows = Report.objects.filter(resolved_at=None)
    if number := _count(rows):
        text = ngettext(
            "%(count)s report has been waiting for an answer for %(age)s.",
            "%(count)s reports are waiting for an answer, the oldest for %(age)s.",
            number,
        )
        oldest = rows.order_by("pk").values_list("created_at", flat=True).first()
        queue = _address("strikes_queue")
        table = _address("moderation_report_changelist") + "?resolved=no"
        yield Line(_filled(text, number, oldest), queue or table)
    for waiting in WAITING:
        for sentence, address in waiting():
            yield Line(sentence, address)


def _late_deliveries() -> Iterator[Line]:
    state, jobs = current_state(), _address("timeline_fanoutjob_changelist")
    if seconds := state["deliveries_behind_seconds"]:
        text = ngettext(
            "Deliveries are %(count)s second behind.",
            "Deliveries are %(count)s seconds behind.",
            seconds,
        )
        yield Line(text % {"count": seconds}, jobs, is_bad=True)
    elif not state["checks"].get("deliveries", {"ok": True})["ok"]:
        text = _("%(name)s: %(error)s.")
        error = state["checks"]["deliveries"]["error"]
        yield Line(text % {"name": "deliveries", "error": error}, jobs, is_bad=True)


def _dead_letters() -> Iterator[Line]:
    """Work that was given up after its last attempt."""
    kinds: tuple[tuple[QuerySet[Any], str, str], ...] = (
        (Event.objects.all(), "events_event_changelist", DEAD),
        (FanoutJob.objects.all(), "timeline_fanoutjob_changelist", DEAD),
        (FanoutChunk.objects.all(), "timeline_fanoutjob_changelist", "?chunks=dead"),
        (Backfill.objects.all(), "timeline_backfill_changelist", DEAD),
        (BackfillChunk.objects.all(), "timeline_backfill_changelist", ""),
        (ScheduledPost.objects.all(), "posts_scheduledpost_changelist", DEAD),
        (Transcode.objects.all(), "posts_transcode_changelist", DEAD),
    )
    for rows, address, query in kinds:
        dead = rows.filter(state=State.DEAD)
        if number := _count(dead):
            text = ngettext(
                "%(count)s dead letter is waiting (%(kind)s).",
                "%(count)s dead letters are waiting (%(kind)s).",
                number,
            )
            kind = dead.model._meta.verbose_name_plural
            yield Line(
                text % {"count": _counted(number), "kind": kind},
                _address(address) + query,
                is_bad=True,
            )


def _findings() -> Iterator[Line]:
    since = timezone.now() - timedelta(days=1)
    left = AuditFinding.objects.filter(repaired_at=None, last_found_at__gt=since)
    if number := _count(left):
        text = ngettext(
            "The auditor found %(count)s mistake within a day that it could not repair.",
            "The auditor found %(count)s mistakes within a day that it could not repair.",
            number,
        )
        yield Line(
            text % {"count": _counted(number)},
            _address("audit_auditfinding_changelist"),
            is_bad=True,
        )


def _servers() -> Iterator[Line]:
    caches = _address("operations_cachenode_changelist")
    for status in node_statuses(topology_in_force()):
        if not status.health.is_well:
            text = _("The cache node %(name)s does not work: %(error)s.")
            values = {"name": status.node.name or status.title, "error": status.health.error}
            yield Line(text % values, caches, is_bad=True)
    for name, check in current_state()["checks"].items():
        if not check["ok"] and name not in TOLD:
            text = _("%(name)s: %(error)s.")
            redis = _address("operations_redis") or caches
            yield Line(text % {"name": name, "error": check["error"]}, redis, is_bad=True)
    for folder in {_existing(Path(root)) for root in (settings.MEDIA_ROOT, settings.PRIVATE_ROOT)}:
        disk = shutil.disk_usage(folder)
        if disk.used / disk.total > FULL:
            text = _("The disk of %(folder)s is %(percent)d %% full.")
            yield Line(
                text % {"folder": folder.name, "percent": disk.used * 100 // disk.total},
                is_bad=True,
            )


def _existing(folder: Path) -> Path:
    """The folder, or its closest existing parent."""
    return folder if folder.exists() else _existing(folder.parent)


def _count(rows: QuerySet[Any]) -> int:
    return rows.order_by()[: MAX_COUNTED + 1].count()


def _counted(number: int) -> str:
    return str(number) if number <= MAX_COUNTED else f"{MAX_COUNTED}+"


def _filled(text: str, number: int, since: datetime | None) -> str:
    age = timesince(since or timezone.now(), depth=1)
    return text % {"count": _counted(number), "age": age}


def _address(name: str) -> str:
    """The address of an admin page; empty if its app is switched off."""
    try:
        return reverse(f"admin:{name}")
    except NoReverseMatch:
        return ""
