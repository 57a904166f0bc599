"""What a reader does with a post: like, repost, bookmark, pin, mute its thread, and the way back."""

import re
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.views.decorators.http import require_POST

from apps.accounts.models import User
from apps.engagement import voting
from apps.engagement.actions import bookmark_post, like_post, unbookmark_post, unlike_post
from apps.errors import Invalid
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_address
from apps.posts.actions.edit import pin_post, unpin_post
from apps.posts.actions.mute import mute_thread, unmute_thread
from apps.timeline.publishing import repost, undo_repost
from apps.timeline.thread import visible_item
from apps.web.post_card import Viewer, actions_of

_CARD = re.compile(r"p([0-9]{1,19})")

ACTS: dict[str, Callable[[User, int], object]] = {
    "like": like_post,
    "unlike": unlike_post,
    "repost": repost,
    "unrepost": undo_repost,
    "bookmark": bookmark_post,
    "unbookmark": unbookmark_post,
    "pin": pin_post,
    "unpin": unpin_post,
    "mute_thread": mute_thread,
    "unmute_thread": unmute_thread,
}


@require_POST
@login_required
def vote(request: AuthenticatedRequest, post_id: int) -> HttpResponseBase:
    """Vote in a poll, and go back to it; what was refused is said there."""
    try:
        voting.vote(request.user, post_id, _choices(request))
    except Invalid as refusal:
        messages.error(request, refusal.message)
    return SeeOther(next_address(request, visible_item(request.user.pk, post_id).url))


def _choices(request: AuthenticatedRequest) -> list[int]:
    asked = request.POST.getlist("choices")
    return [int(one) if one.isascii() and one.isdigit() and len(one) < 3 else -1 for one in asked]


@require_POST
@login_required
def act(request: AuthenticatedRequest, post_id: int, verb: str) -> HttpResponseBase:
    """Do it, and go back to the post; for htmx only the row of buttons."""
    ACTS[verb](request.user, post_id)
    # the card that the button stands in, which for a repost has another id than the post
    found = _CARD.fullmatch(request.POST.get("at", ""))
    if not request.htmx:
        back = next_address(request)
        return SeeOther(f"{back.partition('#')[0]}#{found[0]}" if found else back)
    item = visible_item(request.user.pk, post_id)
    return HttpResponse(actions_of(item, Viewer.of(request.user), anchor=found[1] if found else ""))
