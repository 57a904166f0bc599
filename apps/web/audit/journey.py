"""The journey of a post, and a comparison of push and pull for the viewer's own home page."""

from datetime import timedelta
from typing import Any

from django.contrib.admin.models import LogEntry
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext
from django.views.decorators.http import require_safe

from apps.accounts.queries import users_by_id
from apps.accounts.staff import is_permitted, log_action
from apps.audit.journey.both_ways import home_both_ways
from apps.audit.journey.post import Journey, Stage, journey_of
from apps.dates import full_time
from apps.http.requests import AuthenticatedRequest, login_required
from apps.http.verification import may_act_as_staff
from apps.sql import database_time
from apps.throttling import check_rate_limit
from apps.timeline.fanout.author_receipts import MIN_FOLLOWERS, VIEW_RECEIPTS, duration, exact
from apps.timeline.models import Mode
from apps.timeline.thread import visible_item
from apps.web.audit.picture import REPLAY_SECONDS, picture_of
from apps.web.plots import bars

MAX_BARS = 40
# until the post is this old, the page polls to find out whether a follower has read it
LOOKED_AT = timedelta(minutes=10)

# An event, its name in the articles of docs/sources.md, and its time or number.
Row = tuple[str, str, str]


@require_safe
@login_required
def journey(request: AuthenticatedRequest, post_id: int) -> HttpResponse:
    """The journey page, or a part of it.

    With `after` (the highest receipt number on the page), the picture marks later receipts as new. With `both`, the
    page also compares the viewer's home page by push with the same page by pull. Staff see only figures of other
    people's posts; when they read those of a restricted post, this is logged.
    """
    as_staff = may_act_as_staff(request) and is_permitted(request.user, VIEW_RECEIPTS)
    found = journey_of(request.user, post_id, as_staff=as_staff)
    if not (found.is_open or found.receipt.is_own):
        _record_view(request, found.author_id)
    context: dict[str, Any] = {"here": "home", "journey": found}
    if "both" in request.GET:
        check_rate_limit("check", str(request.user.pk))
        context["both"] = home_both_ways(request.user)
        if request.htmx:
            return render(request, "audit/_both_ways.html", context)
    context |= _figures(found, after=_number(request.GET.get("after")))
    context["asks_every"] = _asks_every(found)
    if request.htmx:
        return render(request, "audit/_journey.html", context)
    if found.receipt.is_own:
        context["item"] = visible_item(request.user.pk, post_id)
    return render(request, "audit/journey.html", context)


def _record_view(request: AuthenticatedRequest, author_id: int) -> None:
    """Add an entry to the admin's history. A page that polls adds at most one an hour."""
    message = f"read {request.path}"
    if request.htmx:
        entries = LogEntry.objects.filter(user=request.user, object_id=str(author_id))
        hour_ago = timezone.now() - timedelta(hours=1)
        if entries.filter(action_time__gt=hour_ago, change_message__contains=message).exists():
            return
    log_action(request.user, users_by_id([author_id])[author_id], message)


def _asks_every(journey: Journey) -> int:
    """The seconds until the page polls again if the stream is silent; 0 if it stops polling."""
    if journey.is_under_way:
        return 1
    return 15 if database_time() - journey.accepted_at < LOOKED_AT else 0


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def _figures(journey: Journey, *, after: int | None) -> dict[str, Any]:
    last = max((chunk.done_after or 0.0 for chunk in journey.chunks), default=0.0)
    return {
        "picture": picture_of(journey, after=after),
        "bars": bars(_reached(journey, last)),
        "bar": duration_of(last / MAX_BARS),
        "end": duration_of(last),
        "replay": _replay(last),
        "stations": _stations(journey),
        "table": _table(journey),
        "layers": _layers(journey),
        "seconds": journey.per_second,
    }


def duration_of(seconds: float) -> str:
    """A duration in words: in milliseconds if it is below a second ("12 ms"), otherwise as `duration` formats it."""
    if seconds < 1:
        return _("%(number)s ms") % {"number": round(seconds * 1000)}
    return duration(seconds)


def _reached(journey: Journey, last: float) -> list[int]:
    """The number of readers reached in each of MAX_BARS equal parts of the time until the last receipt; [] if none."""
    parts = [0] * MAX_BARS
    for chunk in journey.chunks:
        if chunk.done_after is not None and last:
            parts[min(int(chunk.done_after / last * MAX_BARS), MAX_BARS - 1)] += chunk.delivered
    return parts if any(parts) else []


def _replay(last: float) -> str:
    facts = {"shown": duration(REPLAY_SECONDS), "time": duration_of(last)}
    if last < REPLAY_SECONDS:
        return _("Shown in slow motion: %(shown)s for %(time)s.") % facts
    return _("Shown in time lapse: %(shown)s for %(time)s.") % facts


def _stations(journey: Journey) -> list[tuple[str, str, bool]]:
    """For each step up to the job: its label, its time, and whether the post has passed it."""
    steps = (
        (_("Accepted"), 0.0),
        (_("Committed"), journey.committed),
        (_("Event"), journey.taken),
        (_("Job"), journey.job),
    )
    has_job = bool(journey.receipt.mode)
    return [(label, _after(seconds), has_job or seconds is not None) for label, seconds in steps]


def _after(seconds: float | None) -> str:
    return "–" if seconds is None else f"+{duration_of(seconds)}"


def _known(journey: Journey, seconds: float | None) -> str:
    """The time of a step. It is stored in the event, so it is unknown once the event is deleted (`EVENT_DAYS`)."""
    if seconds is None and journey.receipt.mode:
        return _("no longer known")
    return _after(seconds)


def _layers(journey: Journey) -> list[tuple[str, int, int]]:
    """For each Memcached tier: its name, how many of its groups have the post, and how many groups it has.

    L1 may have several groups; Main and Backup have one each.
    """
    names = {"l1": "L1", "main": "Main", "backup": "Backup"}
    return [
        (label, sum(has for _name, has in parts), len(parts))
        for name, label in names.items()
        if (parts := [layer for layer in journey.layers if layer[0] == name])
    ]


def _table(journey: Journey) -> list[Row]:
    return [*_way_in(journey), *_way_out(journey), *_afterwards(journey)]


def _way_in(journey: Journey) -> list[Row]:
    return [
        (
            _("The site accepted the post."),
            _("Outbox: the author’s own list"),
            full_time(journey.accepted_at),
        ),
        (
            _("It was committed together with the event that starts its delivery."),
            _("Stored first, sent afterwards"),
            _known(journey, journey.committed),
        ),
        (
            _("A worker took the event."),
            _("Message queue: publishing does not wait for the delivery"),
            _known(journey, journey.taken),
        ),
        (
            _("The delivery was recorded as a job."),
            str(_WAYS[Mode(journey.receipt.mode)]) if journey.receipt.mode else "–",
            _after(journey.job),
        ),
    ]


_WAYS = {
    Mode.PUSH: gettext_lazy("Push: fan-out on write"),
    Mode.ONLINE: gettext_lazy("Online push, offline pull"),
    Mode.PULL: gettext_lazy("Pull: fan-out on read"),
}


def _way_out(journey: Journey) -> list[Row]:
    receipt = journey.receipt
    if journey.is_pulled:
        return [
            (
                _("Nothing is delivered: readers fetch the post when they open their home page."),
                _("Pulled author: no fan-out"),
                _people(journey.followers),
            )
        ]
    rows = [
        (
            _("The list of followers was split into chunks, which workers take from a queue."),
            _("Dispatcher: only scans the list of followers"),
            _chunks(journey),
        ),
        (
            _("It was put on the prepared home pages."),
            _("Online push: into the inboxes"),
            exact(receipt.reached),
        ),
        (
            _("Followers who are away get it when they come back."),
            _("Offline pull: the timeline is rebuilt"),
            exact(receipt.dormant),
        ),
    ]
    if receipt.pending:
        text = _("Followers it has not reached yet.")
        rows.append((text, _("Guaranteed delivery: every chunk is a row"), exact(receipt.pending)))
    if receipt.failed:
        text = _("Followers it could not be delivered to.")
        rows.append((text, _("Dead letters"), exact(receipt.failed)))
    return rows


def _chunks(journey: Journey) -> str:
    stages = journey.stages
    parts = [
        words % {"count": exact(stages[stage])}
        for stage, words in (
            (Stage.DONE, _("%(count)s done")),
            (Stage.RUNNING, _("%(count)s in progress")),
            (Stage.WAITING, _("%(count)s waiting")),
            (Stage.FAILED, _("%(count)s failed")),
        )
        if stages[stage]
    ]
    if journey.longest_wait is not None:
        parts.append(_("longest wait %(time)s") % {"time": duration_of(journey.longest_wait)})
    return pgettext("between parts of a list", ", ").join(parts) or "–"


def _afterwards(journey: Journey) -> list[Row]:
    rows = [
        (
            _("A follower opened it for the first time. The site does not record who."),
            _("Existence filter: has it been read?"),
            _first_read(journey),
        )
    ]
    if journey.reads is not None:
        text = _("The number of people who have opened it.")
        rows.append((text, _("Counter service"), exact(journey.reads)))
    rows += [
        (
            _("The parts of the cache that can serve it now."),
            _("L1, Main, Backup"),
            _served(journey),
        ),
        (
            _("Mistakes that the auditor found and repaired."),
            _("Guaranteed delivery: compared with the tables"),
            _corrections(journey),
        ),
    ]
    return rows


def _first_read(journey: Journey) -> str:
    if journey.first_read is not None:
        return _after(journey.first_read)
    is_told = journey.followers >= MIN_FOLLOWERS and not journey.receipt.is_addressed
    return _("not yet") if is_told else _("not recorded: too few people can read it")


def _served(journey: Journey) -> str:
    if not journey.is_open:
        return _("none: a post with a limited audience is never cached")
    parts = [f"{label} {has}/{of}" for label, has, of in _layers(journey)]
    return pgettext("between parts of a list", ", ").join(parts) or _("there is no cache")


def _corrections(journey: Journey) -> str:
    parts = [
        _("%(what)s: %(number)s, repaired: %(repaired)s")
        % {"what": kind.label, "number": exact(number), "repaired": exact(repaired)}
        for kind, number, repaired in journey.findings
    ]
    return pgettext("between parts of a sentence", "; ").join(parts) or _("nothing")


def _people(number: int) -> str:
    text = ngettext("%(count)s follower", "%(count)s followers", number)
    return text % {"count": exact(number)}
