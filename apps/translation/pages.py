"""A post in its reader's language: on a separate page, or in place of the text."""

from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from apps.http.requests import AuthenticatedRequest, login_required
from apps.languages import WRITTEN, html_language
from apps.posts.content.text import html
from apps.timeline.thread import visible_item
from apps.translation import service
from apps.translation.actions import translated


@require_safe
@login_required
def translation(request: AuthenticatedRequest, handle: str, post_id: int) -> HttpResponseBase:
    """The page of a translation. An htmx request gets only the text, or the original text with `original`."""
    if request.htmx and "original" in request.GET:
        item = visible_item(request.user.pk, post_id).shown
        return render(request, "translation/_original.html", {"item": item})
    item, found = translated(request.user, post_id)
    if item.author.handle != handle:
        return redirect(f"{item.url}/translation")
    context = {
        "item": item,
        "html": html(found.body, handles=item.post.mentions),
        "warning": found.content_warning,
        "options": found.options,
        "language": html_language(found.target),
        "source": dict(WRITTEN).get(found.source, found.source),
        "service": service.NAME,
    }
    template = "translation/_text.html" if request.htmx else "translation/page.html"
    return render(request, template, context)


urlpatterns: list[URLPattern] = [
    path("@<str:handle>/<post:post_id>/translation", translation, name="translation"),
]
