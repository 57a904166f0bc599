"""Pages for earlier posts: an account's list with its search, a single post, and its deletion."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.accounts.staff import is_permitted
from apps.earlier_posts.actions import delete_earlier_post
from apps.earlier_posts.queries import QUERY_CHARACTERS, Shown, earlier_post, earlier_posts
from apps.errors import BadRequest, NotFound
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    limit_searches,
    login_required,
    require_get_or_post,
    viewer_of,
)
from apps.http.verification import may_act_as_staff, redirect_to_second_factor
from apps.pagination import Cursor
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.models import Visibility

TITLE_CHARACTERS = 60


@require_safe
def index(request: SiteRequest, handle: str) -> HttpResponseBase:
    """An account's earlier posts. `q` selects those that contain a text, and `date` those written up to a day."""
    owner, viewer = user_by_handle(handle), viewer_of(request)
    if handle != owner.handle:
        return redirect("earlier_posts", owner.handle, permanent=True)
    text = request.GET.get("q", "").strip()
    if len(text) > QUERY_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": QUERY_CHARACTERS}
        raise BadRequest(message, code="too_long")
    if text:
        limit_searches(request)
    day = request.GET.get("date", "")
    bounds = {name: request.GET[name] for name in request.GET if name != "date"}
    after = Cursor.from_query(bounds).max_id
    page = earlier_posts(owner, viewer, text=text, day=day, after=after)
    context = _context(owner, viewer) | {"page": page, "q": text, "date": day}
    return render(request, "earlier_posts/index.html", context)


@require_safe
def post(request: SiteRequest, handle: str, number: int) -> HttpResponseBase:
    owner, viewer = user_by_handle(handle), viewer_of(request)
    if handle != owner.handle:
        return redirect("earlier_post", owner.handle, number, permanent=True)
    shown = earlier_post(owner, viewer, number)
    context = _context(owner, viewer) | {
        "item": shown,
        "title": Truncator(shown.content_warning or shown.row.body).chars(TITLE_CHARACTERS),
        "is_indexable": _is_indexable(owner, shown),
        "may_delete": viewer is not None
        and (
            viewer.pk == owner.pk
            or (is_permitted(viewer, DELETE_POSTS) and may_act_as_staff(request))
        ),
    }
    return render(request, "earlier_posts/post.html", context)


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, handle: str, number: int) -> HttpResponseBase:
    """Ask for confirmation, then delete a post."""
    owner = user_by_handle(handle)
    shown = earlier_post(owner, request.user, number)
    if request.user.pk != owner.pk:
        if not is_permitted(request.user, DELETE_POSTS):
            raise NotFound(_("This post isn't here."))
        if not may_act_as_staff(request):
            return redirect_to_second_factor(request)
    if request.method != "POST":
        back = reverse("earlier_post", args=[owner.handle, number])
        return render(request, "earlier_posts/delete.html", {"item": shown, "back": back})
    delete_earlier_post(number, by=request.user)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("earlier_posts", args=[owner.handle]))


def _context(owner: User, viewer: User | None) -> dict[str, Any]:
    is_own = viewer is not None and viewer.pk == owner.pk
    return {"owner": owner, "is_own": is_own, "here": "profile" if is_own else ""}


def _is_indexable(owner: User, shown: Shown) -> bool:
    return owner.is_indexable and shown.row.visibility == Visibility.PUBLIC


urlpatterns: list[URLPattern] = [
    path("@<str:handle>/earlier", index, name="earlier_posts"),
    path("@<str:handle>/earlier/<int:number>", post, name="earlier_post"),
    path("@<str:handle>/earlier/<int:number>/delete", delete, name="earlier_post_delete"),
]
