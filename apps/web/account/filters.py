"""Settings pages: list, create, edit and delete filters."""

from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.errors import Invalid
from apps.filters.actions import change_filter, create_filter, delete_filter
from apps.filters.models import Filter
from apps.filters.queries import filters_of, own_filter
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.web.forms.accounts import render_settings
from apps.web.forms.filters import FilterForm


@require_get_or_post
@login_required
def filters(request: AuthenticatedRequest) -> HttpResponseBase:
    form = FilterForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _save(request, form, None):
        return SeeOther(reverse("settings_filters"))
    context = {"form": form, "filters": filters_of(request.user)}
    return render_settings(request, "filters/index.html", "filters", context, form)


@require_get_or_post
@login_required
def edit(request: AuthenticatedRequest, filter_id: int) -> HttpResponseBase:
    own = own_filter(request.user, filter_id)
    form = FilterForm.of(own, request.POST or None)
    if request.method == "POST" and form.is_valid() and _save(request, form, own):
        return SeeOther(reverse("settings_filters"))
    context = {"form": form, "filter": own}
    return render_settings(request, "filters/edit.html", "filters", context, form)


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, filter_id: int) -> HttpResponseBase:
    own = own_filter(request.user, filter_id)
    if request.method != "POST":
        context = {"filter": own, "back": reverse("settings_filters")}
        return render(request, "filters/delete.html", context)
    delete_filter(request.user, filter_id)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("settings_filters"))


def _save(request: AuthenticatedRequest, form: FilterForm, old: Filter | None) -> bool:
    """Save a filter. If the change is invalid, add the error to the form and return False."""
    try:
        change = form.to_change(old)
        if old is None:
            create_filter(request.user, change)
        else:
            change_filter(request.user, old.pk, change)
    except Invalid as error:
        form.add_error(None, error.message)
        return False
    messages.success(request, _("Saved."))
    return True
