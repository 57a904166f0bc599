"""The list of conversations, requests from strangers, and the actions on a conversation."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.notifications.conversations import actions
from apps.notifications.conversations.queries import (
    conversations_page,
    get_conversation,
    waiting_requests,
)
from apps.pagination import Cursor

ACTS = {
    "accept": actions.accept_request,
    "mute": actions.mute_conversation,
    "unmute": actions.unmute_conversation,
    "remove": actions.remove_conversation,
}
SAID = {
    "mute": gettext_lazy("Muted. You get no notifications of new messages here."),
    "unmute": gettext_lazy("No longer muted."),
    "remove": gettext_lazy("Removed. It reappears with the next message."),
}


@require_safe
@login_required
def conversations(request: AuthenticatedRequest, *, requests: bool = False) -> HttpResponse:
    page = conversations_page(request.user, Cursor.from_query(request.GET), requests=requests)
    context = {"page": page, "here": "messages", "feed_url": request.path, "requests": requests}
    if request.htmx:
        return render(request, "notifications/conversations/_page.html", context)
    context["waiting"] = waiting_requests(request.user)
    return render(request, "notifications/conversations/list.html", context)


@require_POST
@login_required
def act(request: AuthenticatedRequest, number: int, verb: str) -> HttpResponseBase:
    ACTS[verb](request.user, number)
    if verb in SAID:
        messages.success(request, SAID[verb])
    return SeeOther("/conversations" if verb == "remove" else f"/conversations/{number}")


@require_get_or_post
@login_required
def leave(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Leave a conversation, after a confirmation; it reappears only if the viewer writes in it."""
    conversation = get_conversation(request.user, number)
    if request.method != "POST":
        context = {
            "conversation": conversation,
            "back": f"/conversations/{number}",
            "here": "messages",
        }
        return render(request, "notifications/conversations/leave.html", context)
    actions.leave_conversation(request.user, number)
    messages.success(request, _("You have left the conversation."))
    return (
        HttpResponseClientRedirect("/conversations") if request.htmx else SeeOther("/conversations")
    )
