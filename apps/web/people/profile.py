"""Profiles: an account and its posts."""

from dataclasses import replace
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from apps.graph.familiar_followers import ask_familiar_names
from apps.http.requests import SiteRequest, viewer_of
from apps.notifications.queries import Unread, unread_expression
from apps.pagination import Cursor
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Batches
from apps.timeline.profile import (
    ProfileFilter,
    ProfileHead,
    pinned_items,
    profile_head,
    profile_timeline,
)
from apps.web.feed import render_feed
from apps.web.hooks import PROFILE_LINKS, ProfileLink
from apps.web.templatetags.people import MAX_NAMES, ProfileFacts, name_of
from feedcache.read_through import Batch

TABS = {
    "posts": ProfileFilter(replies=False),
    "replies": ProfileFilter(),
    "media": ProfileFilter(reposts=False, only_pictures=True),
}


@require_safe
def profile(request: SiteRequest, handle: str, *, tab: str = "posts") -> HttpResponseBase:
    """An account and its posts. The first page of the tab `posts` begins with the pinned posts."""
    viewer = viewer_of(request)
    viewer_id = viewer.pk if viewer else None
    head = profile_head(
        handle,
        viewer_id,
        badge=unread_expression(viewer),
        facts=[link.shown for link in PROFILE_LINKS],
    )
    owner, relationship = head.owner, head.relationship
    if handle != owner.handle:
        return redirect(owner.url, permanent=True)
    cursor = Cursor.from_query(request.GET, by_time=True)
    pinned: list[FeedItem] = []
    only = TABS[tab]
    if tab == "posts" and cursor == Cursor():
        pinned = pinned_items(viewer, head.pinned_ids)
        only = replace(only, pinned=False)
    batches = Batches(Batch(), Batch())
    familiar = (
        ask_familiar_names(batches.first, viewer, owner, names=MAX_NAMES)
        if viewer is not None and not request.htmx
        else None
    )
    page = profile_timeline(owner, viewer, cursor, only, batches=batches)
    context: dict[str, Any] = {
        "profile": owner,
        "facts": ProfileFacts.of(owner, head.featured_tags),
        "here": "profile" if viewer_id == owner.pk else "",
        "tab": tab,
        "feed_url": request.path,
        "pinned": pinned,
        "has_pinned": bool(pinned),
        "relationship": relationship,
        "familiar": familiar() if familiar else None,
        "is_blocked": relationship.blocking,
        "links": _links(head),
        "is_top": cursor.max_id is None,
        "title": f"{owner.name} (@{owner.handle})",
        "heading": name_of(owner),
        "url": owner.url,
    }
    if head.badge is not None:
        context |= Unread(*head.badge)._asdict()
    return render_feed(request, "timeline/profile.html", page, **context)


def _links(head: ProfileHead) -> list[ProfileLink]:
    if head.relationship.blocking or head.relationship.blocked_by:
        return []
    return [link for link, is_shown in zip(PROFILE_LINKS, head.facts, strict=True) if is_shown]
