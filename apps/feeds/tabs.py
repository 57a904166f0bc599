"""Feeds as tabs next to the timelines."""

from collections.abc import Iterable

from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.feeds.queries import pinned_feeds
from apps.web.hooks import Tab

ALL = Tab(80, "feeds", reverse_lazy("feeds"), _("Feeds"), is_in_menu=True)


def pinned(viewer: User | None) -> Iterable[Tab]:
    """The tabs of the feeds that a viewer has pinned."""
    for feed in pinned_feeds(viewer):
        yield Tab(50, feed.pk, feed.url, feed.name, is_written_by_people=True)
