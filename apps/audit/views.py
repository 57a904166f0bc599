"""Pages that answer "why is this here?"."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.visitors import MemberVisit, signed_in_only
from apps.audit.explain import explain, explain_home
from apps.paging import Cursor, Page


@require_safe
@signed_in_only
def post(request: MemberVisit, post_id: int) -> HttpResponse:
    """Why one post is on the viewer's home page, or why not."""
    found = explain(request.user, post_id)
    return render(request, "audit/explain.html", {"page": Page([found]), "here": "home"})


@require_safe
@signed_in_only
def home(request: MemberVisit) -> HttpResponse:
    """A page of the viewer's home, each post with why it is there."""
    page = explain_home(request.user, Cursor.from_query(request.GET))
    context = {"page": page, "here": "home", "is_list": True, "feed_url": request.path}
    return render(request, "audit/explain.html", context)
