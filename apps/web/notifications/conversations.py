"""The list of conversations."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.http.requests import AuthenticatedRequest, SeeOther, login_required
from apps.notifications.conversations import (
    conversations_page,
    get_conversation,
    mark_read,
    remove_conversation,
)
from apps.pagination import Cursor


@require_safe
@login_required
def conversations(request: AuthenticatedRequest) -> HttpResponse:
    page = conversations_page(request.user, Cursor.from_query(request.GET))
    context = {"page": page, "here": "notifications", "feed_url": request.path}
    template = (
        "notifications/conversations/_page.html"
        if request.htmx
        else "notifications/conversations/list.html"
    )
    return render(request, template, context)


@require_safe
@login_required
def open_conversation(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Redirect to the newest post, and mark the conversation as read."""
    conversation = get_conversation(request.user, number)
    if request.method == "GET":
        mark_read(request.user, number)
    return SeeOther(f"{conversation.item.url}#p{conversation.item.id}")


@require_POST
@login_required
def remove(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Remove the conversation from the list; its posts stay."""
    remove_conversation(request.user, number)
    messages.success(request, _("Removed. What is said in it next brings it back."))
    return SeeOther("/conversations")
