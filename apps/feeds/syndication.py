"""Serves public rule-based feeds to feed readers, if the site has the syndication app."""

from django.http import HttpResponseBase
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.queries import user_by_handle
from apps.feeds.models import Feed
from apps.feeds.queries import feed_at
from apps.feeds.timeline import feed_timeline
from apps.http.requests import SiteRequest, limit_searches
from apps.syndication.feeds import FORMS, Source
from apps.syndication.pages import feed_response


@require_safe
def for_readers(request: SiteRequest, handle: str, slug: str, form: str) -> HttpResponseBase:
    """A public feed as Atom, RSS or JSON."""
    feed = feed_at(None, user_by_handle(handle), slug)
    if feed.include_words:
        limit_searches(request)
    return feed_response(request, lambda: _source(feed), form)


def _source(feed: Feed) -> Source:
    return Source(
        title=f"{feed.name} (@{feed.owner.handle})",
        about=_("Public posts selected by rules of @%(handle)s") % {"handle": feed.owner.handle},
        page=feed.url,
        posts=lambda cursor: feed_timeline(feed, None, cursor),
    )


urlpatterns: list[URLPattern] = [
    path(f"@<str:handle>/feeds/<str:slug>.{form}", for_readers, {"form": form}) for form in FORMS
]
