"""The page of a feed, and the pages to create, change and delete feeds."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.queries import user_by_handle
from apps.errors import Invalid
from apps.feeds.actions import MAX_PINNED, change_feed, create_feed, delete_feed, draft_feed
from apps.feeds.forms import FeedForm
from apps.feeds.models import Feed
from apps.feeds.queries import feed_at, feeds_of, own_feed
from apps.feeds.timeline import feed_timeline
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    limit_searches,
    login_required,
    require_get_or_post,
    viewer_id_of,
    viewer_of,
)
from apps.pagination import Cursor
from apps.web.feed import render_feed
from apps.web.forms.accounts import add_errors, render_form

PREVIEW_POSTS = 5


@require_safe
def feed_page(request: SiteRequest, handle: str, slug: str) -> HttpResponseBase:
    """The page of a feed, found by the owner's handle and the slug."""
    owner, viewer_id = user_by_handle(handle), viewer_id_of(request)
    feed = feed_at(viewer_id, owner, slug)
    if handle != owner.handle:
        return redirect(feed.url, permanent=True)
    if feed.include_words:
        limit_searches(request)
    page = feed_timeline(feed, viewer_of(request), Cursor.from_query(request.GET, by_time=True))
    context: dict[str, Any] = {"feed": feed, "is_own": viewer_id == owner.pk, "feed_url": feed.url}
    return render_feed(
        request,
        "feeds/feed.html",
        page,
        here="home" if viewer_id == owner.pk else "",
        **context,
    )


@require_get_or_post
@login_required
def index(request: AuthenticatedRequest) -> HttpResponseBase:
    """The viewer's feeds, and a form for a new one."""
    form = FeedForm(request.POST or None)
    if (saved := _save(request, form, None)) is not None:
        return SeeOther(saved.url)
    return _form_page(request, "feeds/index.html", form, feeds=feeds_of(request.user))


@require_get_or_post
@login_required
def edit(request: AuthenticatedRequest, feed_id: int) -> HttpResponseBase:
    """Change one of the viewer's feeds."""
    feed = own_feed(request.user, feed_id)
    form = FeedForm(request.POST or None, feed=feed)
    if (saved := _save(request, form, feed)) is not None:
        messages.success(request, _("Saved."))
        return SeeOther(saved.url)
    return _form_page(request, "feeds/edit.html", form, feed=feed)


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, feed_id: int) -> HttpResponseBase:
    """Ask for confirmation, then delete."""
    feed = own_feed(request.user, feed_id)
    if request.method != "POST":
        back = reverse("feed_edit", args=[feed_id])
        context = {"feed": feed, "back": back}
        return render(request, "feeds/delete.html", context)
    delete_feed(request.user, feed_id)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("feeds"))


def _save(request: AuthenticatedRequest, form: FeedForm, old: Feed | None) -> Feed | None:
    """The saved feed; None if nothing was to be saved, or if the form is invalid, which then shows the errors."""
    if request.method != "POST" or "preview" in request.POST or not form.is_valid():
        return None
    try:
        if old is None:
            return create_feed(request.user, **form.values())
        return change_feed(request.user, old.pk, **form.values())
    except Invalid as error:
        add_errors(form, error, {"pinned": "is_pinned"})
        return None


def _form_page(
    request: AuthenticatedRequest, template: str, form: FeedForm, **context: Any
) -> HttpResponse:
    """Render the form; for a preview also the posts that the feed would show now."""
    if "preview" in request.POST:
        form.fields["name"].required = False
        context["preview"] = _preview(request, form)
    context = {
        "form": form,
        "max_pinned": MAX_PINNED,
        "here": "home",
        **context,
    }
    return render_form(request, template, context, form)


def _preview(request: AuthenticatedRequest, form: FeedForm) -> Any:
    """The first posts of the feed that the form describes; None if the form is invalid, which then shows the errors."""
    if not form.is_valid():
        return None
    try:
        feed = draft_feed(request.user, **form.values())
        if feed.include_words:
            limit_searches(request)
        return feed_timeline(feed, request.user, Cursor(limit=PREVIEW_POSTS))
    except Invalid as error:
        add_errors(form, error)
        return None


urlpatterns: list[URLPattern] = [
    path("feeds", index, name="feeds"),
    path("feeds/<int:feed_id>/edit", edit, name="feed_edit"),
    path("feeds/<int:feed_id>/delete", delete, name="feed_delete"),
    path("@<str:handle>/feeds/<str:slug>", feed_page, name="feed"),
]
