"""Pages of a post: its thread, receipt, versions, likes, reposts and quotes, and its embed for other sites."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.staff import is_permitted
from apps.errors import NotFound
from apps.http.requests import (
    AuthenticatedRequest,
    SiteRequest,
    login_required,
    viewer_id_of,
    viewer_of,
)
from apps.http.verification import may_act_as_staff
from apps.pagination import Cursor, Page
from apps.posts.queries import MAX_VERSIONS, versions_of
from apps.timeline.fanout.author_receipts import (
    VIEW_RECEIPTS,
    duration,
    read_post,
    receipt_of,
)
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import (
    apply_filters_to_thread,
    fold_replies,
    likers,
    quotes_timeline,
    reposters,
    thread,
    visible_item,
)
from apps.web.people.relationships import follow_buttons
from apps.web.plots import steps

MAX_TITLE = 60  # characters of a post in the title of its page
PEOPLE_OF_TAB: dict[str, Callable[[int | None, int, Cursor], Page[User]]] = {
    "likes": likers,
    "reposts": reposters,
}


@require_safe
def post(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """A post in its thread; an htmx request gets only the replies below it."""
    viewer = viewer_of(request)
    viewer_id, revision = (viewer.pk, viewer.counts.graph_revision) if viewer else (None, None)
    filtered = apply_filters_to_thread(viewer, thread(viewer_id, post_id, revision=revision))
    if filtered.focus.author.handle != handle:
        return redirect(filtered.focus.url)
    focus = filtered.focus.shown  # for a repost, the shared post
    context: dict[str, Any] = {
        "thread": filtered,
        "rows": fold_replies(focus, filtered.descendants),
    }
    if request.htmx:
        return render(request, "timeline/_rows.html", {**context, "focus_position": 1})
    # a HEAD request shows nothing, so it marks nothing as read
    if request.method == "GET" and viewer:
        read_post(viewer, focus.id)
    if viewer and filtered.focus.flags.own:
        context["receipt"] = receipt_of(viewer, filtered.focus.id)
    context |= {
        "focus_position": len(filtered.ancestors) + 1,  # among the cards of the page, starting at 1
        "title": _title(focus),
        "author": f"{focus.author.name} (@{focus.author.handle})",
        "back_url": filtered.focus.author.url,  # for a repost: the profile of the reposter
        "embed_url": f"{settings.SITE_URL}{focus.url}/embed",
        "can_repost": focus.can_repost,
        "has_more": filtered.more,
    }
    return render(request, "timeline/thread.html", context)


@require_safe
def short_url(request: SiteRequest, post_id: int) -> HttpResponseBase:
    """Redirect from the short address of a post to its page."""
    return redirect(visible_item(viewer_id_of(request), post_id).url)


def _title(item: FeedItem) -> str:
    text = Truncator(item.post.content_warning or item.post.body).chars(MAX_TITLE)
    return _("%(name)s: “%(text)s”") % {"name": item.author.name, "text": text}


@require_safe
@login_required
def receipt(request: AuthenticatedRequest, handle: str, post_id: int) -> HttpResponseBase:
    """The number of people that a post reached. The author also sees the post; staff see only the figures."""
    as_staff = may_act_as_staff(request) and is_permitted(request.user, VIEW_RECEIPTS)
    found = receipt_of(request.user, post_id, as_staff=as_staff)
    item = visible_item(request.user.pk, post_id) if found.is_own else None
    if item and item.author.handle != handle:
        return redirect(f"{item.url}/receipt")
    context = {
        "receipt": found,
        "item": item,
        "curve": steps(found.curve) if found.reached else "",
        "time": duration(found.seconds or 0),
        "back_url": f"/@{handle}/{post_id}",
    }
    return render(request, "timeline/receipt.html", context)


@require_safe
def history(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """The newest 100 versions of a post, newest first."""
    item = visible_item(viewer_id_of(request), post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/history")
    # versions are shown without the "Edited" line, and without the poll
    versions = [
        item._replace(post=replace(version, edited_ms=None, poll=None))
        for version in reversed(versions_of(item.post))
    ]
    context = {"item": item, "versions": versions, "is_cut": len(versions) >= MAX_VERSIONS}
    return render(request, "timeline/history.html", context)


@require_safe
def people(request: SiteRequest, handle: str, post_id: int, *, tab: str) -> HttpResponseBase:
    """The people who have liked or reposted a post."""
    viewer_id = viewer_id_of(request)
    item = visible_item(viewer_id, post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/{tab}")
    page = PEOPLE_OF_TAB[tab](viewer_id, post_id, Cursor.from_query(request.GET))
    buttons = follow_buttons(viewer_id, page.items)
    context = {"item": item, "tab": tab, "page": page, **buttons}
    return render(request, "timeline/reactions.html", context)


@require_safe
def quotes(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """The posts that quote a post; an htmx request gets only the next ones."""
    viewer_id = viewer_id_of(request)
    item = visible_item(viewer_id, post_id).shown
    if item.author.handle != handle:
        return redirect(f"{item.url}/quotes")
    page = quotes_timeline(viewer_of(request), post_id, Cursor.from_query(request.GET))
    context = {"item": item, "tab": "quotes", "page": page, "feed_url": request.path}
    template = "timeline/_page.html" if request.htmx else "timeline/reactions.html"
    return render(request, template, context)


@require_safe
@xframe_options_exempt
@csp_replace({"frame-ancestors": ["*"]})  # type: ignore[arg-type]  # typed for views without arguments
def embed(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """A public or unlisted post as visitors see it, for iframes on other sites."""
    item = visible_item(None, post_id).shown
    if item.author.handle != handle:
        raise NotFound(_("This post isn't here."))
    return render(request, "timeline/embed.html", {"item": item, "viewer": None})
