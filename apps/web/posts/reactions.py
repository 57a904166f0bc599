"""The buttons of a post: like, react, repost, bookmark, pin, mute the thread (and undo each), revoke a quote, vote."""

import re
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.middleware.csrf import get_token
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from apps.accounts.models import User
from apps.engagement import actions
from apps.engagement.actions import MARK_VERBS
from apps.errors import Invalid
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_url
from apps.posts.actions.edit import pin_post, unpin_post
from apps.posts.actions.mute_thread import mute_thread, unmute_thread
from apps.timeline.publishing import repost, revoke_quote, undo_repost
from apps.timeline.thread import visible_item
from apps.web.post_card import Viewer, render_actions, render_poll

_ANCHOR = re.compile(r"p([0-9]{1,19})")


def _revoke_quote(viewer: User, quote_id: int) -> None:
    """Remove the viewer's post from a quote by somebody else."""
    quoted_id = visible_item(viewer.pk, quote_id).post.source_id
    revoke_quote(viewer, quoted_id or 0, quote_id)


ACTS: dict[str, Callable[[User, int], object]] = {
    **MARK_VERBS,
    "repost": repost,
    "unrepost": undo_repost,
    "pin": pin_post,
    "unpin": unpin_post,
    "mute_thread": mute_thread,
    "unmute_thread": unmute_thread,
    "revoke_quote": _revoke_quote,
}


@require_POST
@login_required
def vote(request: AuthenticatedRequest, post_id: int) -> HttpResponseBase:
    """Vote, and return to the post; an htmx request gets only the poll. If the vote is invalid, a message says why."""
    refused = ""
    try:
        actions.vote(request.user, post_id, _choices(request))
    except Invalid as error:
        refused = error.message
    item = visible_item(request.user.pk, post_id)
    if request.htmx:
        poll = render_poll(item, Viewer.of(request.user, get_token(request)))
        response = HttpResponse(poll, status=422 if refused else 200)
        return trigger_client_event(response, "told", {"text": refused}) if refused else response
    if refused:
        messages.error(request, refused)
    return SeeOther(next_url(request, item.url))


def _choices(request: AuthenticatedRequest) -> list[int]:
    """The chosen options. Values that are not small numbers become -1, which the action rejects."""
    texts = request.POST.getlist("choices")
    return [
        int(text) if text.isascii() and text.isdigit() and len(text) < 3 else -1 for text in texts
    ]


@require_POST
@login_required
def act(request: AuthenticatedRequest, post_id: int, verb: str) -> HttpResponseBase:
    """React, and return to the post; an htmx request gets only the row of buttons."""
    ACTS[verb](request.user, post_id)
    # return to the card that was clicked: a repost's card has the repost's id
    match = _ANCHOR.fullmatch(request.POST.get("at", f"p{post_id}"))
    if not request.htmx:
        back = next_url(request)
        return SeeOther(f"{back.partition('#')[0]}#{match[0]}" if match else back)
    item = visible_item(request.user.pk, post_id)
    return HttpResponse(
        render_actions(item, Viewer.of(request.user), anchor=match[1] if match else "")
    )
