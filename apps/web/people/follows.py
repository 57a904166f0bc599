"""Pages of followers, and the buttons to follow, block and so on."""

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.graph.actions import (
    block_user,
    follow_user,
    remove_follower,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.queries import exact_relations, followers_page, following_page
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    login_required,
    next_url,
    require_get_or_post,
    return_url,
    viewer_id_of,
)
from apps.paging import Cursor, Page

ACTS: dict[str, Callable[[User, User], object]] = {
    "follow": follow_user,
    "unfollow": unfollow_user,
    "unblock": unblock_user,
    "unmute": unmute_user,
    "remove_follower": remove_follower,
    "hide_reposts": partial(follow_user, reposts=False),
    "show_reposts": partial(follow_user, reposts=True),
    "watch": partial(follow_user, notify=True),
    "unwatch": partial(follow_user, notify=False),
}
_MESSAGES = {
    "unblock": gettext_lazy("@%(handle)s is not blocked any more."),
    "unmute": gettext_lazy("@%(handle)s is not muted any more."),
    "remove_follower": gettext_lazy("@%(handle)s does not follow you any more."),
    "hide_reposts": gettext_lazy("What @%(handle)s reposts is not on your page any more."),
    "show_reposts": gettext_lazy("What @%(handle)s reposts is on your page again."),
    "watch": gettext_lazy("You will be told of new posts of @%(handle)s."),
    "unwatch": gettext_lazy("You will not be told of new posts of @%(handle)s any more."),
}


@require_safe
def followers(request: SiteRequest, handle: str) -> HttpResponseBase:
    owner = user_by_handle(handle)
    page = followers_page(owner, viewer_id_of(request), Cursor.from_query(request.GET))
    return _people(request, owner, page, tab="followers")


@require_safe
def following(request: SiteRequest, handle: str) -> HttpResponseBase:
    owner = user_by_handle(handle)
    page = following_page(owner, viewer_id_of(request), Cursor.from_query(request.GET))
    return _people(request, owner, page, tab="following")


@require_POST
@login_required
def act(request: AuthenticatedRequest, handle: str, verb: str) -> HttpResponseBase:
    """Follow, unmute and the like; for htmx only the button."""
    other = user_by_handle(handle)
    ACTS[verb](request.user, other)
    if request.htmx:
        return _button(request, other)
    if verb in _MESSAGES:
        messages.success(request, _MESSAGES[verb] % {"handle": other.handle})
    return SeeOther(next_url(request, other.url))


@require_get_or_post
@login_required
def block(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    other = user_by_handle(handle)
    back = return_url(request, other.url)
    if request.method != "POST":
        return render(request, "graph/block.html", {"person": other, "back": back, "no_fab": True})
    block_user(request.user, other)
    messages.success(request, _("@%(handle)s is blocked.") % {"handle": other.handle})
    return SeeOther(back)


def _people(request: SiteRequest, owner: User, page: Page[User], *, tab: str) -> HttpResponseBase:
    if not request.path.startswith(f"{owner.url}/"):
        return redirect(f"{owner.url}/{tab}", permanent=True)
    viewer_id = viewer_id_of(request)
    related = exact_relations(viewer_id, [owner.pk, *(person.pk for person in page.items)])
    here = "profile" if viewer_id == owner.pk else ""
    context = {
        "profile": owner,
        "page": page,
        "tab": tab,
        "here": here,
        "following": related.following,
        "followed_by": related.followed_by,
        "requested": related.requested,
    }
    return render(request, "graph/people.html", context)


def _button(request: AuthenticatedRequest, other: User) -> HttpResponse:
    related = exact_relations(request.user.pk, [other.pk])
    context = {
        "person": other,
        "following": related.following,
        "followed_by": related.followed_by,
        "blocking": related.blocking,
        "requested": related.requested,
    }
    return render(request, "graph/_follow_button.html", context)
