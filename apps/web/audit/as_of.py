"""The home page as it was at an earlier time."""

from datetime import UTC, timedelta
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.errors import BadRequest
from apps.http.requests import AuthenticatedRequest, login_required
from apps.pagination import Cursor, parse_moment
from apps.throttling import check_rate_limit
from apps.timeline.history.as_of import MAX_DELETED, history_begins, home_as_of
from apps.web.audit.explain import staff_view_of_account
from apps.web.forms.posts import MAX_OFFSET

LOCAL_TIME = "%Y-%m-%dT%H:%M:%S"  # the format of datetime-local inputs


@require_safe
@login_required
def as_of(request: AuthenticatedRequest) -> HttpResponse:
    """The form to choose a time; with `as_of`, also the home page at that time."""
    return _past_page(request, request.user, {})


@staff_view_of_account
def as_of_another(request: AuthenticatedRequest, owner: User) -> HttpResponse:
    """The past home page of another account, for staff, without the texts of restricted posts."""
    return _past_page(request, owner, {"owner": owner})


def _behind_utc(text: str) -> timedelta:
    """How far the reader's time zone is behind UTC. Raises BadRequest if there is no such zone.

    `composer.js` fills in the number of minutes; without JavaScript the times in the form are UTC.
    """
    try:
        minutes = int(text or 0)
    except ValueError:
        minutes = MAX_OFFSET + 1
    if abs(minutes) > MAX_OFFSET:
        raise BadRequest(_("There is no such time zone."))
    return timedelta(minutes=minutes)


def _past_page(
    request: AuthenticatedRequest, reader: User, context: dict[str, Any]
) -> HttpResponse:
    context |= {"here": "home", "begins": history_begins()}
    if text := request.GET.get("as_of"):
        check_rate_limit("past", str(request.user.pk))
        query = request.GET.dict()
        del query["as_of"]
        try:
            moment = parse_moment(text, "as_of") + _behind_utc(query.pop("utc_offset", ""))
        except OverflowError:  # in the last hours of the year 9999 or the first of the year 1
            raise BadRequest(_("There is no such time.")) from None
        past = home_as_of(reader, moment, Cursor.from_query(query))
        context |= {
            "moment": moment,
            "value": moment.astimezone(UTC).strftime(LOCAL_TIME),
            "page": past.page,
            "rows": [{"item": item} for item in past.page.items],
            "deleted": past.deleted,
            "deleted_is_capped": past.deleted >= MAX_DELETED,
            "is_before_history": moment < context["begins"],
        }
    return render(request, "audit/as_of.html", context)
