"""The sign-up page."""

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from apps.accounts.actions import register
from apps.accounts.models import User
from apps.errors import Invalid
from apps.http.requests import SiteRequest, client_address, next_url, require_get_or_post, viewer_of
from apps.http.verification import begin_login
from apps.throttling import check_sign_up
from apps.web.account.auth import entry_page
from apps.web.forms.accounts import SignUpForm, add_errors


@sensitive_post_parameters("password")
@require_get_or_post
def sign_up(request: SiteRequest) -> HttpResponseBase:
    if viewer_of(request):
        return redirect("front")
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        client = client_address(request)
        check_sign_up(client)
        try:
            user = register(**form.cleaned_data, client=client)
        except Invalid as error:
            add_errors(form, error)
        else:
            return begin_login(request, user, _url_after(request, user))
    return entry_page(request, "accounts/sign_up.html", form)


def _url_after(request: SiteRequest, user: User) -> str:
    """The page after signing up: confirmation of the address if required, else the requested page, or /welcome."""
    goal = next_url(request)
    if goal == "/":
        goal = reverse("welcome")
    if not (settings.EMAIL_CONFIRMATION_REQUIRED and user.pending_email):
        return goal
    return f"{reverse('email_pending')}?{urlencode({'next': goal})}"
