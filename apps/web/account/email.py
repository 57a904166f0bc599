"""Pages to confirm an e-mail address."""

from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from apps.accounts.email.confirmation import confirm_email, send_confirmation, user_to_confirm
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    client_address,
    login_required,
    next_url,
    require_get_or_post,
)
from apps.throttling import Origin, begin_guess


@require_get_or_post
@login_required
def pending(request: AuthenticatedRequest) -> HttpResponseBase:
    if not request.user.pending_email:
        return redirect("settings_account")
    if request.method == "POST":
        send_confirmation(request.user)
        messages.success(request, _("Sent. It may take a few minutes to arrive."))
        return SeeOther(request.get_full_path())
    context = {"address": request.user.pending_email, "next": next_url(request)}
    return render(request, "accounts/email_pending.html", context)


@require_get_or_post
def confirm(request: SiteRequest, token: str) -> HttpResponseBase:
    """The page of a mailed link. Only its button confirms the address, because mail scanners open links too."""
    guess = begin_guess(f"confirm {token}", Origin(client_address(request)))
    account = user_to_confirm(token)
    guess.give_back()
    if request.method == "POST":
        user = confirm_email(token)
        messages.success(request, _("Your address has been confirmed."))
        return SeeOther("/" if request.user == user else "/login")
    context = {"address": account.pending_email, "handle": account.handle}
    return render(request, "accounts/email_confirm.html", context)
