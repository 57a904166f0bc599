"""The second column next to the home page on wide screens: notifications or a list."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.errors import NotFound
from apps.graph.groups.queries import groups_of, own_group
from apps.graph.models import UserList
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required
from apps.notifications.queries import notifications_page
from apps.pagination import Cursor
from apps.timeline.list import list_timeline
from apps.web.notifications.notifications import grouped

NOTIFICATIONS, LIST = "notifications", "list-"  # User.second_column; LIST precedes a list's id


def second_columns(user: User) -> list[tuple[str, str]]:
    """The values that a user can choose, with their labels."""
    lists = [(f"{LIST}{own.pk}", own.name) for own in groups_of(UserList, user)]
    return [("", _("Nothing more")), (NOTIFICATIONS, _("Notifications")), *lists]


@require_safe
@login_required
def second_column(request: AuthenticatedRequest) -> HttpResponse:
    """The rows of the column, for htmx; other requests are redirected to the full page.

    Notifications that are shown here stay unread.
    """
    chosen = request.user.second_column
    list_id = chosen.removeprefix(LIST) if chosen.startswith(LIST) else ""
    if not request.htmx:
        return SeeOther(reverse("list", args=[list_id]) if list_id else reverse("notifications"))
    if not list_id:
        page = notifications_page(request.user, Cursor())
        context = {
            "title": _("Notifications"),
            "rows": grouped(page.items),
            "url": reverse("notifications"),
        }
    else:
        try:
            own = own_group(UserList, request.user, int(list_id))
        except NotFound:
            context = {
                "title": _("This list no longer exists."),
                "url": reverse("settings_reading"),
            }
        else:
            posts = list_timeline(request.user, own, Cursor()).items
            context = {"title": own.name, "items": posts, "url": reverse("list", args=[own.pk])}
    return render(request, "timeline/_second_column.html", context)
