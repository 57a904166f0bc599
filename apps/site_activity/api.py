"""Mastodon's endpoint for the site's weekly activity."""

from datetime import UTC, datetime, time
from typing import Annotated, TypedDict

from django.urls import URLPattern, path
from rest_framework.decorators import authentication_classes
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.decorators import endpoint, operation
from apps.scopes import ANY_TOKEN
from apps.site_activity.models import Week
from apps.site_activity.queries import last_weeks


class WeekJson(TypedDict):
    """The activity in a week. All members are numbers written as strings, as in Mastodon."""

    week: Annotated[str, "Midnight of its Monday, in UTC, in seconds since 1970."]
    statuses: Annotated[str, "Without reposts."]
    logins: str
    registrations: str


def week_json(week: Week) -> WeekJson:
    monday = datetime.combine(week.first_day, time(), UTC)
    return {
        "week": str(int(monday.timestamp())),
        "statuses": str(week.statuses),
        "logins": str(week.logins),
        "registrations": str(week.registrations),
    }


@operation(
    "What happened on the site in each of the last twelve weeks",
    list[WeekJson],
    name="instance_activity",
    tags=["instance"],
    errors=[],
)
@endpoint(GET=ANY_TOKEN, public=True)
@authentication_classes([])
def activity(_request: Request) -> Response:
    """The weeks, current week first. Posts and accounts are counted hourly, logins since the app was installed."""
    return Response([week_json(week) for week in last_weeks()])


urlpatterns: list[URLPattern] = [path("instance/activity", activity)]
