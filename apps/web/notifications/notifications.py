"""Notifications, held-back ones (Mastodon's notification requests), announcements, and the notification settings."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.errors import NotFound
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    login_required,
    next_url,
    require_get_or_post,
    viewer_of,
)
from apps.notifications import announcements
from apps.notifications.actions import (
    accept_notifications_from,
    change_policy,
    choose_notification_kinds,
    chosen_notification_kinds,
    dismiss_notifications_from,
    mark_read,
)
from apps.notifications.announcements import current_announcement, current_announcements
from apps.notifications.kinds import TOLD, NotificationKind
from apps.notifications.policy import CONDITIONS
from apps.notifications.queries import (
    HeldBackNotifications,
    NotificationItem,
    held_back_notifications,
    latest_notification_id,
    notifications_page,
    policy_of,
    unread,
)
from apps.pagination import Cursor
from apps.timeline.pipeline.items import FeedItem
from apps.web.forms.accounts import render_settings
from apps.web.forms.notifications import KindsForm, PolicyForm
from apps.web.templatetags.amounts import badge

MENTION_KINDS = [NotificationKind.MENTION, NotificationKind.REPLY, NotificationKind.QUOTE]
MAX_FACES = 5
MAX_HELD = 80  # accounts with notifications that are held back
MAX_ROWS = 100  # notifications of one account
ANSWERS = {"accept": accept_notifications_from, "dismiss": dismiss_notifications_from}
MESSAGES = {
    "accept": gettext_lazy("You will get notifications from @%(handle)s from now on."),
    "dismiss": gettext_lazy("The held-back notifications from @%(handle)s were deleted."),
}


@dataclass(slots=True)
class Row:
    """A line of the page: one notification, or several of one kind (see `grouped`), by one or more people."""

    key: str
    kind: str
    item: FeedItem | None
    created_at: datetime
    is_unread: bool
    newest_id: int  # the id of its newest notification
    about: Any = None  # what its newest notification is about
    actors: list[User] = field(default_factory=list)

    @property
    def faces(self) -> list[User]:
        return self.actors[:MAX_FACES]

    @property
    def icon(self) -> str:
        return TOLD[self.kind].icon

    @property
    def line(self) -> str:
        """The words that follow the name of the first actor."""
        told, others = TOLD[self.kind], len(self.actors) - 1
        if others and told.line_of_several:
            return str(told.line_of_several % {"n": others})
        return str(told.line)


@require_safe
@login_required
def notifications(request: AuthenticatedRequest, *, mentions: bool = False) -> HttpResponse:
    """The viewer's notifications. Opening a page marks its own and all older ones as read; `mentions` marks none."""
    cursor = Cursor.from_query(request.GET)
    kinds = [str(kind) for kind in MENTION_KINDS] if mentions else None
    page = notifications_page(request.user, cursor, kinds=kinds)
    # a HEAD request shows nothing, so it marks nothing as read
    if request.method == "GET" and page.newer is not None and not mentions:
        mark_read(request.user, page.newer)
    context = {
        "page": page,
        "rows": grouped(page.items),
        "mentions": mentions,
        "here": "notifications",
        "feed_url": request.path,
    }
    if request.htmx:
        return render(request, "notifications/_page.html", context)
    if not mentions and cursor.max_id is None:
        context["announcements"] = current_announcements(request.user)
    return render(request, "notifications/list.html", context)


@require_safe
@never_cache
def unread_badge(request: SiteRequest) -> HttpResponse:
    """The menu's numbers of unread notifications and messages, one per line. Visitors get 204."""
    viewer = viewer_of(request)
    if viewer is None:
        return HttpResponse(status=204)
    lines = "\n".join(badge(number) for number in unread(viewer))
    return HttpResponse(lines, content_type="text/plain; charset=utf-8")


@require_POST
@login_required
def read_all(request: AuthenticatedRequest) -> HttpResponseBase:
    mark_read(request.user, latest_notification_id(request.user))
    return SeeOther(next_url(request, "/notifications"))


def grouped(items: list[NotificationItem]) -> list[Row]:
    """Rows for the page. If a kind has a `group`, its notifications about one post are one row, where the newest is.

    All follows on the page are one row, because they are about no post.
    """
    rows: dict[tuple[str, int], Row] = {}
    for item in items:
        post_id = item.item.id if item.item else 0
        is_grouped = bool(TOLD[item.kind].group)
        key = (item.kind, post_id) if is_grouped else (item.kind, -item.id)
        name = f"{item.kind}-{post_id}" if is_grouped else str(item.id)
        new_row = Row(
            name, item.kind, item.item, item.created_at, item.is_unread, item.id, item.about
        )
        row = rows.setdefault(key, new_row)
        row.actors.append(item.actor)
        row.is_unread = row.is_unread or item.is_unread
    return list(rows.values())


@require_get_or_post
@login_required
def kinds(request: AuthenticatedRequest) -> HttpResponseBase:
    data = request.POST if request.method == "POST" else None
    form = KindsForm(data, initial={"kinds": chosen_notification_kinds(request.user)})
    current = policy_of(request.user)
    policy = PolicyForm(data, initial={name: getattr(current, name) for name in CONDITIONS})
    # a form with no checked box is valid: it means no notifications
    if data is not None and form.is_valid() and policy.is_valid():
        choose_notification_kinds(request.user, form.cleaned_data["kinds"])
        change_policy(request.user, **policy.verdicts())
        messages.success(request, _("Saved."))
        return SeeOther(request.path)
    context = {"form": form, "policy": policy}
    return render_settings(
        request, "notifications/settings.html", "notifications", context, form, policy
    )


@require_safe
@login_required
def requests(request: AuthenticatedRequest) -> HttpResponse:
    """The accounts whose notifications are held back, newest first."""
    return _held(request, held_back_notifications(request.user)[:MAX_HELD])


@require_safe
@login_required
def requests_of(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    """The held-back notifications of one account."""
    actor = user_by_handle(handle)
    found = held_back_notifications(request.user, actor_id=actor.pk)
    if not found:
        raise NotFound(_("No notifications from this account are held back."))
    rows = grouped(found[0].items[:MAX_ROWS])
    return _held(request, found, rows=rows, actor=actor)


@require_POST
@login_required
def answer(request: AuthenticatedRequest, handle: str, verb: str) -> HttpResponseBase:
    """Accept an account's notifications, including the held-back ones, or delete the held-back ones."""
    actor = user_by_handle(handle)
    ANSWERS[verb](request.user, [actor.pk])
    messages.success(request, MESSAGES[verb] % {"handle": actor.handle})
    return SeeOther("/notifications/requests")


def _held(
    request: AuthenticatedRequest, held: list[HeldBackNotifications], **more: Any
) -> HttpResponse:
    context = {"held": held, "here": "notifications", **more}
    return render(request, "notifications/requests.html", context)


@require_POST
@login_required
def dismiss_announcement(request: AuthenticatedRequest, announcement_id: int) -> HttpResponseBase:
    announcements.dismiss_announcement(request.user, current_announcement(announcement_id))
    return SeeOther(next_url(request, "/notifications"))
