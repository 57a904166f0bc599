"""A live comparison of the viewer's home page with the database, and a copy of a page to download and verify."""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.audit.own_page.archive import page_archive
from apps.audit.own_page.check import check_page
from apps.http.requests import AuthenticatedRequest, as_download, login_required
from apps.pagination import Cursor

MAX_PAGES = 10  # checked automatically, one after another; a link continues with the next page


@require_safe
@login_required
def check(request: AuthenticatedRequest) -> HttpResponse:
    """The page with the button that starts the check; with `page`, the result for one page, which htmx appends."""
    context: dict[str, Any] = {"here": "home"}
    if number := request.GET.get("page"):
        cursor = Cursor.from_query({"max_id": request.GET.get("max_id", "")})
        context["number"] = int(number) if number.isdecimal() and len(number) < 6 else 1
        context["check"] = check_page(request.user, cursor)
        context["goes_on"] = context["number"] % MAX_PAGES != 0
    template = "audit/_check_result.html" if request.htmx else "audit/check.html"
    return render(request, template, context)


@require_safe
@login_required
def download(request: AuthenticatedRequest) -> HttpResponseBase:
    body = page_archive(request.user, Cursor.from_query(request.GET, by_time=True))
    return as_download(HttpResponse(body), "page.zip", "application/zip")
