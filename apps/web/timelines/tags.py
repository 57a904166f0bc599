"""The page of followed tags, and the button to follow one."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_url
from apps.paging import Cursor
from apps.tags.actions import follow_tag, unfollow_tag
from apps.tags.queries import followed_page, known, trending

TRENDING = 10


@require_safe
@login_required
def tags(request: AuthenticatedRequest) -> HttpResponse:
    page = followed_page(request.user, Cursor.from_query(request.GET))
    context = {
        "page": page,
        "trending": known(trending(maximum=TRENDING), request.user, are_in_use=True),
    }
    return render(request, "tags/index.html", {"here": "explore", "no_fab": True, **context})


@require_POST
@login_required
def act(request: AuthenticatedRequest, name: str, *, verb: str) -> HttpResponseBase:
    if verb == "follow":
        tag = follow_tag(request.user, name)
        messages.success(request, _("#%(name)s is on your home page now.") % {"name": tag.name})
    else:
        tag = unfollow_tag(request.user, name)
    return SeeOther(next_url(request, default=tag.url))
