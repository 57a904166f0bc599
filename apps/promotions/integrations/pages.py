"""The settings page of promoted posts: stated traits, the reader's segments, and a switch that turns promotions off."""

from http import HTTPStatus

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.errors import Invalid
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    require_get_or_post,
)
from apps.promotions.actions import opt_in, opt_out, set_traits
from apps.promotions.integrations.forms import PromotionsForm
from apps.promotions.integrations.impressions import count_seen
from apps.promotions.queries import (
    choosable_traits,
    is_opted_out,
    is_switched_on,
    segments_of,
    stated_traits,
)
from apps.web.forms.accounts import add_errors, render_settings
from feedcache.ids import parse_id

MAX_VIEW_CHARACTERS = 40


@require_POST
@login_required
def seen(request: AuthenticatedRequest) -> HttpResponse:
    """Count a promoted post that a page reports as seen on the screen; `view` identifies the page view."""
    try:
        post_id = parse_id(request.POST.get("post", ""))
    except ValueError:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    count_seen(request.user.pk, post_id, view=request.POST.get("view", "")[:MAX_VIEW_CHARACTERS])
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_get_or_post
@login_required
def promotions(request: AuthenticatedRequest) -> HttpResponseBase:
    user = request.user
    stated = stated_traits(user)
    traits = {trait.slug: trait.label for trait in [*choosable_traits(), *stated]}
    initial = {
        "shows_promoted": not is_opted_out(user),
        "traits": [trait.slug for trait in stated],
    }
    form = PromotionsForm(
        request.POST if request.method == "POST" else None,
        initial=initial,
        traits=list(traits.items()),
    )
    if form.is_valid():
        is_wanted = form.cleaned_data["shows_promoted"]
        try:
            with transaction.atomic():
                if not is_wanted:
                    opt_out(user)
                set_traits(user, form.cleaned_data["traits"])
                if is_wanted:
                    opt_in(user)
        except Invalid as error:
            add_errors(form, error)
        else:
            messages.success(request, _("Saved."))
            return SeeOther(request.path)
    context = {
        "form": form,
        "segments": segments_of(user),
        "is_switched_on": is_switched_on(),
    }
    return render_settings(request, "promotions/settings.html", "promotions", context, form)


urlpatterns: list[URLPattern] = [
    path("settings/promotions", promotions, name="settings_promotions"),
    path("promoted/seen", seen, name="promoted_seen"),
]
