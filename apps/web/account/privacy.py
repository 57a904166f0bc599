"""Pages of follow requests, blocks, mutes and languages, and the setting that requires requests."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.actions import set_locked
from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.errors import NotFound
from apps.graph.actions import follow_user, mute_user
from apps.graph.relationships import (
    blocked_page,
    muted_page,
    relationships,
    requests_count,
    requests_page,
)
from apps.graph.request_actions import approve_request, reject_request
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    next_url,
    require_get_or_post,
)
from apps.paging import Cursor
from apps.web.forms.accounts import render_form, render_settings
from apps.web.forms.graph import LanguagesForm, MuteForm, PrivacyForm

ANSWERS: dict[str, Callable[[User, User], None]] = {
    "approve": approve_request,
    "reject": reject_request,
}
_MESSAGES = {
    "approve": gettext_lazy("@%(handle)s follows you now."),
    "reject": gettext_lazy("The request of @%(handle)s is gone."),
}


@require_get_or_post
@login_required
def privacy(request: AuthenticatedRequest) -> HttpResponseBase:
    form = PrivacyForm(request.POST or None, initial={"is_locked": request.user.is_locked})
    if request.method == "POST":
        form = PrivacyForm(request.POST)  # an unchecked box sends nothing
        form.full_clean()
        set_locked(request.user, locked=form.cleaned_data["is_locked"])
        messages.success(request, _("Saved."))
        return SeeOther(request.path)
    context = {"form": form, "waiting": requests_count(request.user)}
    return render_settings(request, "graph/privacy.html", "privacy", context)


@require_safe
@login_required
def blocked(request: AuthenticatedRequest) -> HttpResponseBase:
    page = blocked_page(request.user, Cursor.from_query(request.GET))
    rows = [(person, None) for person in page.items]
    context = {"page": page, "rows": rows, "verb": "unblock"}
    return render_settings(request, "graph/severed.html", "privacy", context)


@require_safe
@login_required
def muted(request: AuthenticatedRequest) -> HttpResponseBase:
    page = muted_page(request.user, Cursor.from_query(request.GET))
    context = {"page": page, "rows": page.items, "verb": "unmute"}
    return render_settings(request, "graph/severed.html", "privacy", context)


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
    """Ask for how long, then mute; a POST without fields mutes forever."""
    other = user_by_handle(handle)
    back, form = next_url(request, other.url), MuteForm(request.POST or None)
    if request.method == "POST":
        form = MuteForm(request.POST)
        if form.is_valid():
            mute_user(request.user, other, **form.terms())
            messages.success(request, _("@%(handle)s is muted.") % {"handle": other.handle})
            return SeeOther(back)
    context = {"person": other, "back": back, "form": form, "no_fab": True}
    return render_form(request, "graph/mute.html", context, form)


@require_get_or_post
@login_required
def languages(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """Which languages the viewer reads of an account that they follow or have asked to follow."""
    other = user_by_handle(handle)
    relationship = relationships(request.user.pk, [other.pk])[0]
    if not (relationship.following or relationship.requested):
        raise NotFound(_("You don't follow this account."))
    form = LanguagesForm(
        request.POST if request.method == "POST" else None, chosen=relationship.languages
    )
    # no language chosen means all
    if request.method == "POST" and form.is_valid():
        follow_user(request.user, other, languages=form.cleaned_data["languages"])
        messages.success(request, _("Saved."))
        return SeeOther(other.url)
    context = {"person": other, "form": form, "no_fab": True}
    return render_form(request, "graph/languages.html", context, form)
