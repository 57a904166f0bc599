"""Feeds as tabs beside the timelines."""

from collections.abc import Iterable

from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.feeds.queries import pinned_feeds
from apps.web.hooks import Tab


def tabs(viewer: User | None) -> Iterable[Tab]:
    """The feeds that a viewer has as tabs, and the page with all of them."""
    for feed in pinned_feeds(viewer):
        yield Tab(50, feed.pk, feed.url, feed.name, is_written_by_people=True)
    yield Tab(80, "feeds", reverse("feeds"), _("Feeds"))
