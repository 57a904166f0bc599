"""The settings of webhooks: a list, and a page for each webhook with its last messages."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.errors import DomainError
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    require_get_or_post,
)
from apps.http.verification import second_factor_required
from apps.web.forms.accounts import add_errors, render_settings
from apps.webhooks import actions
from apps.webhooks.forms import EndpointForm
from apps.webhooks.models import Endpoint
from apps.webhooks.queries import (
    deliveries_of,
    endpoints_of,
    maker_of,
    own_delivery,
    own_endpoint,
)

NEW_SECRET = "new_webhook_secret"  # noqa: S105 -- a key of the session


@require_safe
@login_required
def index(request: AuthenticatedRequest) -> HttpResponseBase:
    """The viewer's webhooks, and a form for a new one."""
    return _index(request, EndpointForm())


@require_POST
@login_required
@second_factor_required
def new(request: AuthenticatedRequest) -> HttpResponseBase:
    """Create a webhook. Its page shows the secret once."""
    form = EndpointForm(request.POST)
    if form.is_valid():
        try:
            made = actions.create_endpoint(
                request.user, form.cleaned_data["url"], form.cleaned_data["types"]
            )
        except DomainError as error:
            add_errors(form, error)
        else:
            request.session[NEW_SECRET] = [made.endpoint.pk, made.secret]
            return _to_page(made.endpoint)
    return _index(request, form)


def _index(request: AuthenticatedRequest, form: EndpointForm) -> HttpResponse:
    endpoints = [(row, maker_of(row)) for row in endpoints_of(request.user)]
    context = {
        "form": form,
        "endpoints": endpoints,
        "is_full": len(endpoints) >= actions.MAX_ENDPOINTS,
    }
    return render_settings(request, "webhooks/index.html", "webhooks", context, form)


@require_get_or_post
@login_required
@second_factor_required
def endpoint(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """A webhook with its last messages; POST changes its address and kinds."""
    row = own_endpoint(request.user, number)
    form = EndpointForm(request.POST if request.method == "POST" else None, endpoint=row)
    if form.is_valid():
        fields = form.cleaned_data
        try:
            actions.change_endpoint(row, address=fields["url"], kinds=fields["types"])
        except DomainError as error:
            add_errors(form, error)
        else:
            messages.success(request, _("Saved."))
            return _to_page(row)
    made_id, secret = request.session.get(NEW_SECRET, (0, ""))
    is_new = made_id == row.pk
    if is_new:
        del request.session[NEW_SECRET]
    context = {
        "form": form,
        "endpoint": row,
        "maker": maker_of(row),
        "deliveries": deliveries_of(row),
        "secret": secret if is_new else "",
    }
    response = render_settings(request, "webhooks/endpoint.html", "webhooks", context, form)
    if is_new:
        response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
@login_required
@second_factor_required
def act(request: AuthenticatedRequest, number: int, verb: str) -> HttpResponseBase:
    """Perform the action of a button on a webhook's page."""
    row = own_endpoint(request.user, number)
    if verb == "test":
        actions.send_test(row)
        messages.success(
            request, _("The test is on its way. Load the page again to see the answer.")
        )
    elif verb == "secret":
        request.session[NEW_SECRET] = [row.pk, actions.rotate_secret(row)]
    elif verb in {"on", "off"}:
        actions.change_endpoint(row, is_on=verb == "on")
        messages.success(request, _("Switched on.") if verb == "on" else _("Switched off."))
    else:
        raise Http404
    return _to_page(row)


@require_POST
@login_required
def again(request: AuthenticatedRequest, number: int, delivery_id: int) -> HttpResponseBase:
    """Send a message again."""
    row = own_endpoint(request.user, number)
    actions.send_again(row, own_delivery(row, delivery_id))
    messages.success(
        request, _("The message is on its way. Load the page again to see the answer.")
    )
    return SeeOther(f"{reverse('webhook', args=[row.pk])}#messages")


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Ask for confirmation, then delete."""
    row = own_endpoint(request.user, number)
    if request.method != "POST":
        back = reverse("webhook", args=[row.pk])
        return render(request, "webhooks/delete.html", {"endpoint": row, "back": back})
    actions.delete_endpoint(row)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("settings_webhooks"))


def _to_page(row: Endpoint) -> HttpResponseBase:
    return SeeOther(reverse("webhook", args=[row.pk]))


urlpatterns: list[URLPattern] = [
    path("settings/webhooks", index, name="settings_webhooks"),
    path("settings/webhooks/new", new, name="webhook_new"),
    path("settings/webhooks/<int:number>", endpoint, name="webhook"),
    path("settings/webhooks/<int:number>/delete", delete, name="webhook_delete"),
    path("settings/webhooks/<int:number>/<str:verb>", act, name="webhook_act"),
    path(
        "settings/webhooks/<int:number>/messages/<int:delivery_id>/again",
        again,
        name="webhook_again",
    ),
]
