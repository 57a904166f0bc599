"""Pages of filters, under settings: all of them with a form for a new one; one; delete."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.errors import Invalid
from apps.filters.actions import change_filter, create_filter, delete_filter
from apps.filters.models import Filter
from apps.filters.queries import filters_of, own_filter
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.web.forms.accounts import render_form
from apps.web.forms.filters import FilterForm, form_of


@require_get_or_post
@login_required
def filters(request: AuthenticatedRequest) -> HttpResponseBase:
    """One's filters, and a form for a new one."""
    form = FilterForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _saved(request, form, None):
        return SeeOther(reverse("settings_filters"))
    return _settings(request, "filters/index.html", form, filters=filters_of(request.user))


@require_get_or_post
@login_required
def edit(request: AuthenticatedRequest, filter_id: int) -> HttpResponseBase:
    """One of one's filters."""
    found = own_filter(request.user, filter_id)
    form = FilterForm(request.POST or None, initial=form_of(found))
    form.keep_expiry()
    if request.method == "POST" and form.is_valid() and _saved(request, form, found):
        return SeeOther(reverse("settings_filters"))
    return _settings(request, "filters/edit.html", form, filter=found)


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, filter_id: int) -> HttpResponseBase:
    """Ask, then delete."""
    found = own_filter(request.user, filter_id)
    if request.method != "POST":
        context = {"filter": found, "back": reverse("settings_filters"), "no_fab": True}
        return render(request, "filters/delete.html", context)
    delete_filter(request.user, filter_id)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("settings_filters"))


def _saved(request: AuthenticatedRequest, form: FilterForm, before: Filter | None) -> bool:
    """Whether what the form says could be done; else the form says why not."""
    try:
        wanted = form.change(before)
        if before is None:
            create_filter(request.user, wanted)
        else:
            change_filter(request.user, before.pk, wanted)
    except Invalid as refusal:
        form.add_error(None, refusal.message)
        return False
    messages.success(request, _("Saved."))
    return True


def _settings(
    request: AuthenticatedRequest, template: str, form: FilterForm, **context: Any
) -> HttpResponse:
    context = {"form": form, "tab": "filters", "here": "settings", "no_fab": True, **context}
    return render_form(request, template, context, form)
