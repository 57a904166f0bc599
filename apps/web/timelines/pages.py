"""Timelines, profiles and threads."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.engagement.actions import read_post
from apps.filters.models import FilterContext
from apps.graph.relationships import Relationship, relationships
from apps.http.requests import (
    AuthenticatedRequest,
    SiteRequest,
    login_required,
    viewer_id_of,
    viewer_of,
)
from apps.lists.queries import own_list
from apps.paging import Cursor, Page
from apps.streaming.server import ROOT
from apps.streaming.tickets import ticket_for
from apps.tags.queries import known, tag_named
from apps.timeline.home import ReadPosition, get_activity, home_timeline, may_have_unread
from apps.timeline.list import list_timeline
from apps.timeline.pipeline.filters import (
    apply_filters,
    apply_filters_to_page,
    apply_filters_to_thread,
)
from apps.timeline.pipeline.folding import fold_replies
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.profile import ProfileFilter, pinned_posts, profile_timeline
from apps.timeline.public import public_timeline
from apps.timeline.reactions import bookmarks_timeline, favourites_timeline
from apps.timeline.tag import TagQuery, tag_timeline
from apps.timeline.thread import thread
from apps.web.forms.posts import HOME_COMPOSER, home_composer_context
from apps.web.templatetags.people import name_of
from feedcache.timing import stage

STOP_POLLING = 286  # a status of htmx
MAX_NEW_SHOWN = 40
FACES = 3
MAX_TITLE = 60  # characters of a post in the title of its page
TABS = {
    "posts": ProfileFilter(replies=False),
    "replies": ProfileFilter(),
    "media": ProfileFilter(reposts=False, only_pictures=True),
}


@require_safe
def front(request: SiteRequest) -> HttpResponseBase:
    """Home for members; for visitors what the site is, and the public timeline."""
    return home(request) if viewer_of(request) else landing(request)


def landing(request: SiteRequest) -> HttpResponse:
    page = public_timeline(None, Cursor.from_query(request.GET))
    return _feed(
        request, "timeline/landing.html", page, here="home", feed_url="/public", by_hand=True
    )


@require_safe
@login_required
def home(request: AuthenticatedRequest) -> HttpResponse:
    cursor = Cursor.from_query(request.GET)
    page = home_timeline(request.user, cursor)
    return _feed(
        request,
        "timeline/home.html",
        page,
        here="home",
        filter_context=FilterContext.HOME,
        feed_url="/",
        place=str(ReadPosition.of(page)),
        # new posts are inserted above the newest ones; other pages are reloaded
        inline=HOME_COMPOSER if page.items and cursor == Cursor() else "",
        is_top=cursor.max_id is None,
        **home_composer_context(request.user),
    )


@require_safe
def home_new(request: SiteRequest) -> HttpResponseBase:
    """The pill with the number of posts newer than `last_id`; 204 when there are none."""
    viewer = viewer_of(request)
    if not request.htmx:
        return redirect("front")
    if viewer is None:
        return HttpResponse(status=STOP_POLLING)
    last_id = request.GET.get("last_id") or "0"
    if not may_have_unread(viewer, ReadPosition.parse(last_id)):
        return HttpResponse(status=204)
    unread = get_activity(viewer, last_id, limit=MAX_NEW_SHOWN)
    news = [item for item in unread.items if item.author.pk != viewer.pk]
    if not news:
        return HttpResponse(status=204)
    faces = list({item.author.pk: item.author for item in news}.values())[:FACES]
    context = {"number": len(news), "more": unread.more, "people": faces}
    return render(request, "timeline/_pill.html", context)


@require_safe
def public(request: SiteRequest) -> HttpResponse:
    page = public_timeline(viewer_id_of(request), Cursor.from_query(request.GET))
    return _feed(
        request,
        "timeline/public.html",
        page,
        here="public",
        filter_context=FilterContext.PUBLIC,
        feed_url="/public",
    )


@require_safe
@login_required
def bookmarks(request: AuthenticatedRequest) -> HttpResponse:
    page = bookmarks_timeline(request.user, Cursor.from_query(request.GET))
    return _feed(request, "timeline/bookmarks.html", page, here="bookmarks", feed_url="/bookmarks")


@require_safe
@login_required
def likes(request: AuthenticatedRequest) -> HttpResponse:
    page = favourites_timeline(request.user, Cursor.from_query(request.GET))
    return _feed(request, "timeline/likes.html", page, here="likes", feed_url="/likes")


@require_safe
@login_required
def of_list(request: AuthenticatedRequest, list_id: int) -> HttpResponse:
    own = own_list(request.user, list_id)
    page = list_timeline(request.user, own, Cursor.from_query(request.GET))
    context: dict[str, Any] = {"list": own, "here": "lists", "feed_url": request.path}
    return _feed(request, "timeline/list.html", page, filter_context=FilterContext.HOME, **context)


@require_safe
def of_tag(request: SiteRequest, name: str) -> HttpResponse:
    viewer, tag = viewer_of(request), tag_named(name)
    cursor = Cursor.from_query(request.GET)
    page = tag_timeline(viewer_id_of(request), TagQuery(tag.name), cursor)
    context: dict[str, Any] = {
        "usage": known([tag], viewer)[0],
        "here": "explore",
        "feed_url": tag.url,
    }
    return _feed(request, "timeline/tag.html", page, filter_context=FilterContext.PUBLIC, **context)


@require_safe
def profile(request: SiteRequest, handle: str, *, tab: str = "posts") -> HttpResponseBase:
    """An account and its posts; the pinned ones come first."""
    owner, viewer_id = user_by_handle(handle), viewer_id_of(request)
    if handle != owner.handle:
        return redirect(owner.url, permanent=True)
    cursor = Cursor.from_query(request.GET)
    page = profile_timeline(owner, viewer_id, cursor, TABS[tab])
    pinned: list[FeedItem] = []
    if tab == "posts" and cursor == Cursor():
        pinned = apply_filters(
            viewer_of(request), FilterContext.ACCOUNT, pinned_posts(owner, viewer_id)
        )
        page = page.mapped([item for item in page.items if not item.post.pinned])
    relationship = _relationship(viewer_id, owner)
    context = {
        "profile": owner,
        "here": "profile" if viewer_id == owner.pk else "",
        "tab": tab,
        "feed_url": request.path,
        "pinned": pinned,
        "has_pinned": bool(pinned),
        "relationship": relationship,
        "is_blocked": relationship.blocking,
        "is_top": cursor.max_id is None,
        "title": f"{owner.name} (@{owner.handle})",
        "heading": name_of(owner),
        "url": owner.url,
    }
    return _feed(
        request, "timeline/profile.html", page, filter_context=FilterContext.ACCOUNT, **context
    )


@require_safe
def post(request: SiteRequest, handle: str, post_id: int) -> HttpResponseBase:
    """A post in its thread; for htmx only the replies below it."""
    viewer_id = viewer_id_of(request)
    filtered = apply_filters_to_thread(viewer_of(request), thread(viewer_id, post_id))
    if filtered.focus.author.handle != handle:
        return redirect(filtered.focus.url)
    focus = filtered.focus.shown
    context = {"thread": filtered, "rows": fold_replies(focus, filtered.descendants)}
    if request.htmx:
        return render(request, "timeline/_rows.html", {**context, "place": 1})
    if request.method == "GET" and (viewer := viewer_of(request)):
        read_post(viewer, focus.id)
    context |= {
        "place": len(filtered.ancestors) + 1,
        "title": _title(focus),
        "author": f"{focus.author.name} (@{focus.author.handle})",
        "author_url": filtered.focus.author.url,
        "embed_url": f"{settings.SITE_URL}{focus.url}/embed",
        "focus_id": focus.id,
        "can_repost": focus.can_repost,
        "has_more": filtered.more,
    }
    return render(request, "timeline/thread.html", context)


@require_safe
@never_cache
def stream_ticket(request: SiteRequest) -> HttpResponseBase:
    """The URL of the viewer's stream, valid for an hour; 204 where there is no ticket."""
    viewer = viewer_of(request)
    token = ticket_for(viewer, request.session.session_key) if viewer else None
    if token is None:
        return HttpResponse(status=204)
    return JsonResponse({"address": f"{settings.STREAMING_URL}{ROOT}/user?access_token={token}"})


def _title(item: FeedItem) -> str:
    text = Truncator(item.post.content_warning or item.post.body).chars(MAX_TITLE)
    return _("%(name)s: “%(text)s”") % {"name": item.author.name, "text": text}


def _feed(
    request: SiteRequest,
    template: str,
    page: Page[FeedItem],
    *,
    filter_context: FilterContext | None = None,
    **context: Any,
) -> HttpResponse:
    """The page of a feed, or for htmx the next items; the viewer's filters of the context apply."""
    with stage("present"):
        page = apply_filters_to_page(viewer_of(request), filter_context, page)
        context |= {"page": page, "has_items": bool(page.items)}
        return render(request, "timeline/_page.html" if request.htmx else template, context)


def _relationship(viewer_id: int | None, owner: User) -> Relationship:
    if viewer_id is None or viewer_id == owner.pk:
        return Relationship(owner.pk)
    return relationships(viewer_id, [owner.pk])[0]
