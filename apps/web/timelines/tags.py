"""Pages of tags: those that one follows; the button. A tag's posts are in the timeline app."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.http.requests import MemberVisit, SeeOther, next_address, signed_in_only
from apps.paging import Cursor
from apps.tags.actions import follow_tag, unfollow_tag
from apps.tags.queries import followed_page, known, trending

TRENDING = 10


@require_safe
@signed_in_only
def tags(request: MemberVisit) -> HttpResponse:
    """The tags that the viewer follows, and those that are used most."""
    page = followed_page(request.user, Cursor.from_query(request.GET))
    context = {
        "page": page,
        "trending": known(trending(most=TRENDING), request.user, are_in_use=True),
    }
    return render(request, "tags/index.html", {"here": "explore", "no_fab": True, **context})


@require_POST
@signed_in_only
def act(request: MemberVisit, name: str, *, verb: str) -> HttpResponseBase:
    """Follow or unfollow a tag."""
    if verb == "follow":
        tag = follow_tag(request.user, name)
        messages.success(request, _("#%(name)s is on your home page now.") % {"name": tag.name})
    else:
        tag = unfollow_tag(request.user, name)
    return SeeOther(next_address(request, default=tag.url))
