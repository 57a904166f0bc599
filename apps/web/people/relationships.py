"""Pages of follows, follow requests, blocks and mutes, and their buttons."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.errors import NotFound
from apps.graph.actions import (
    approve_request,
    block_user,
    follow_user,
    mute_user,
    reject_request,
    remove_follower,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.queries import (
    Relationship,
    blocked_page,
    exact_relations,
    followers_page,
    following_page,
    friends_page,
    muted_page,
    relationships,
    requests_page,
)
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
from apps.pagination import Cursor, Page
from apps.web.forms.accounts import render_form, render_settings
from apps.web.forms.graph import LanguagesForm, MuteForm


def _followed(viewer: User, other: User) -> Relationship:
    """The viewer's relationship to an account that they follow or have asked to follow. Raises NotFound."""
    relationship = relationships(viewer.pk, [other.pk])[0]
    if not (relationship.following or relationship.requested):
        raise NotFound(_("You don't follow this account."))
    return relationship


def _change_follow(viewer: User, other: User, **terms: Any) -> None:
    """Change the terms of a follow, but do not begin one: the page may be older than an unfollow. Raises NotFound."""
    _followed(viewer, other)
    follow_user(viewer, other, **terms)


PEOPLE: dict[str, Callable[[User, int | None, Cursor], Page[User]]] = {
    "followers": followers_page,
    "following": following_page,
    "friends": friends_page,
}
ACTS: dict[str, Callable[[User, User], object]] = {
    "follow": follow_user,
    "unfollow": unfollow_user,
    "unblock": unblock_user,
    "unmute": unmute_user,
    "remove_follower": remove_follower,
    "hide_reposts": partial(_change_follow, reposts=False),
    "show_reposts": partial(_change_follow, reposts=True),
    "watch": partial(_change_follow, notify=True),
    "unwatch": partial(_change_follow, notify=False),
}
ANSWERS: dict[str, Callable[[User, User], None]] = {
    "approve": approve_request,
    "reject": reject_request,
}
_MESSAGES = {
    "unblock": gettext_lazy("@%(handle)s is no longer blocked."),
    "unmute": gettext_lazy("@%(handle)s is no longer muted."),
    "remove_follower": gettext_lazy("@%(handle)s no longer follows you."),
    "hide_reposts": gettext_lazy("Reposts by @%(handle)s no longer appear on your home page."),
    "show_reposts": gettext_lazy("Reposts by @%(handle)s appear on your home page again."),
    "watch": gettext_lazy("You will be notified of new posts by @%(handle)s."),
    "unwatch": gettext_lazy("You will no longer be notified of new posts by @%(handle)s."),
    "approve": gettext_lazy("@%(handle)s follows you now."),
    "reject": gettext_lazy("The follow request from @%(handle)s was rejected."),
}


@require_safe
def people(request: SiteRequest, handle: str, tab: str) -> HttpResponseBase:
    """The followers of an account, its followees, or its friends, who are both."""
    owner, viewer_id = user_by_handle(handle), viewer_id_of(request)
    if handle != owner.handle:
        return redirect(f"{owner.url}/{tab}", permanent=True)
    page = PEOPLE[tab](owner, viewer_id, Cursor.from_query(request.GET))
    context = {
        "profile": owner,
        "page": page,
        "tab": tab,
        "here": "profile" if viewer_id == owner.pk else "",
        **follow_buttons(viewer_id, [owner, *page.items]),
    }
    return render(request, "graph/people.html", context)


@require_safe
def card(request: SiteRequest, handle: str) -> HttpResponseBase:
    """The card of an account, without a page around it, shown while the pointer hovers over the account's name."""
    person = user_by_handle(handle)
    context = {"person": person, **follow_buttons(viewer_id_of(request), [person])}
    return render(request, "graph/_person_card.html", context)


@require_POST
@login_required
def act(request: AuthenticatedRequest, handle: str, verb: str) -> HttpResponseBase:
    """Follow, unmute and so on. An htmx request gets only the button."""
    other = user_by_handle(handle)
    ACTS[verb](request.user, other)
    if request.htmx:
        context = {"person": other, **follow_buttons(request.user.pk, [other])}
        return render(request, "graph/_follow_button.html", context)
    if verb in _MESSAGES:
        messages.success(request, _MESSAGES[verb] % {"handle": other.handle})
    return SeeOther(next_url(request, other.url))


@require_get_or_post
@login_required
def block(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    other = user_by_handle(handle)
    back = return_url(request, other.url)
    if request.method != "POST":
        return render(
            request,
            "graph/block.html",
            {"person": other, "back": back},
        )
    block_user(request.user, other)
    if back.startswith(f"{other.url}/"):  # one of their posts, which is no longer visible
        back = other.url
    return _done(request, _("@%(handle)s is blocked.") % {"handle": other.handle}, back)


def follow_buttons(viewer_id: int | None, people: Sequence[User]) -> dict[str, Any]:
    """The context for the follow buttons of these people: their ids by kind of relation."""
    related = exact_relations(viewer_id, [person.pk for person in people])
    names = ("following", "followed_by", "blocking", "requested")
    return {name: getattr(related, name) for name in names}


@require_safe
@login_required
def blocked(request: AuthenticatedRequest) -> HttpResponseBase:
    page = blocked_page(request.user, Cursor.from_query(request.GET))
    rows = [(person, None) for person in page.items]
    context = {"page": page, "rows": rows, "verb": "unblock"}
    return render_settings(request, "graph/blocks_and_mutes.html", "blocks", context)


@require_safe
@login_required
def muted(request: AuthenticatedRequest) -> HttpResponseBase:
    page = muted_page(request.user, Cursor.from_query(request.GET))
    context = {"page": page, "rows": page.items, "verb": "unmute"}
    return render_settings(request, "graph/blocks_and_mutes.html", "mutes", context)


@require_safe
@login_required
def follow_requests(request: AuthenticatedRequest) -> HttpResponseBase:
    page = requests_page(request.user, Cursor.from_query(request.GET))
    return render(request, "graph/requests.html", {"page": page, "here": "notifications"})


@require_POST
@login_required
def answer(request: AuthenticatedRequest, handle: str, verb: str) -> HttpResponseBase:
    other = user_by_handle(handle)
    ANSWERS[verb](request.user, other)
    messages.success(request, _MESSAGES[verb] % {"handle": other.handle})
    return SeeOther(next_url(request, "/follow_requests"))


@require_get_or_post
@login_required
def mute(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """Ask for a duration, then mute the account; a POST without fields mutes indefinitely."""
    other = user_by_handle(handle)
    back, form = next_url(request, other.url), MuteForm(request.POST or None)
    if request.method == "POST":
        form = MuteForm(request.POST)
        if form.is_valid():
            mute_user(request.user, other, **form.terms())
            return _done(request, _("@%(handle)s is muted.") % {"handle": other.handle}, back)
    context = {"person": other, "back": back, "form": form}
    return render_form(request, "graph/mute.html", context, form)


def _done(request: SiteRequest, text: str, back: str) -> HttpResponseBase:
    """The response after a change. Scripts get only the message, and remove the posts from the page themselves."""
    if request.htmx:
        return HttpResponse(text, content_type="text/plain; charset=utf-8")
    messages.success(request, text)
    return SeeOther(back)


@require_get_or_post
@login_required
def languages(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """Choose the languages in which the viewer reads an account that they follow or have asked to follow."""
    other = user_by_handle(handle)
    chosen = _followed(request.user, other).languages
    form = LanguagesForm(request.POST if request.method == "POST" else None, chosen=chosen)
    # no language chosen means all
    if request.method == "POST" and form.is_valid():
        follow_user(request.user, other, languages=form.cleaned_data["languages"])
        messages.success(request, _("Saved."))
        return SeeOther(other.url)
    context = {"person": other, "form": form}
    return render_form(request, "graph/languages.html", context, form)
