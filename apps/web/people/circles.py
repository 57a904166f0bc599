"""Pages of circles, under settings: make, fill, rename, delete, leave."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.queries import user_by_handle, user_ids_named, users_by_id
from apps.errors import Invalid, NotAllowed, NotFound
from apps.graph.circle_actions import (
    add_to_circle,
    change_circle,
    create_circle,
    delete_circle,
    leave_circle,
    remove_from_circle,
)
from apps.graph.circle_queries import circles_of, circles_with, members_page, own_circle
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.paging import Cursor
from apps.web.forms.accounts import add_errors, render_form
from apps.web.forms.graph import CircleForm, PeopleForm


@require_get_or_post
@login_required
def circles(request: AuthenticatedRequest) -> HttpResponseBase:
    """One's circles, a form for a new one, and the circles of others that one is in."""
    form = CircleForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = create_circle(request.user, **form.cleaned_data)
        except Invalid as refusal:
            add_errors(form, refusal)
        else:
            return SeeOther(_address(made.pk))
    own, others = circles_of(request.user), circles_with(request.user)
    context = {"own": own, "others": others, "form": form}
    return _settings(request, "graph/circles.html", form, **context)


@require_get_or_post
@login_required
def circle(request: AuthenticatedRequest, circle_id: int) -> HttpResponseBase:
    """One of one's circles: its name and its members."""
    found = own_circle(request.user, circle_id)
    said = {"name": found.name, "is_shared": found.is_shared}
    form = CircleForm(request.POST or None, initial=said)
    if request.method == "POST" and form.is_valid():
        try:
            change_circle(request.user, circle_id, **form.cleaned_data)
        except Invalid as refusal:
            add_errors(form, refusal)
        else:
            messages.success(request, _("Saved."))
            return SeeOther(_address(circle_id))
    return _circle(request, circle_id, form, PeopleForm())


@require_POST
@login_required
def add(request: AuthenticatedRequest, circle_id: int) -> HttpResponseBase:
    """Put people into a circle, all who are named or none of them."""
    found, people = own_circle(request.user, circle_id), PeopleForm(request.POST)
    if people.is_valid():
        try:
            wanted = users_by_id(user_ids_named(people.cleaned_data["handles"]))
            add_to_circle(request.user, circle_id, list(wanted.values()))
        except (Invalid, NotAllowed, NotFound) as refusal:
            people.add_error("handles", refusal.message)
        else:
            return SeeOther(_address(circle_id))
    form = CircleForm(initial={"name": found.name, "is_shared": found.is_shared})
    return _circle(request, circle_id, form, people)


@require_POST
@login_required
def remove(request: AuthenticatedRequest, circle_id: int) -> HttpResponseBase:
    """Take somebody out."""
    person = user_by_handle(request.POST.get("handle", ""))
    remove_from_circle(request.user, circle_id, person.pk)
    messages.success(request, _("@%(handle)s is out of the circle.") % {"handle": person.handle})
    return SeeOther(_address(circle_id))


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, circle_id: int) -> HttpResponseBase:
    """Ask, then delete."""
    found = own_circle(request.user, circle_id)
    if request.method != "POST":
        context = {"circle": found, "back": _address(circle_id), "no_fab": True}
        return render(request, "graph/circle_delete.html", context)
    delete_circle(request.user, circle_id)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("settings_circles"))


@require_POST
@login_required
def leave(request: AuthenticatedRequest, circle_id: int) -> HttpResponseBase:
    """Leave somebody else's circle."""
    leave_circle(request.user, circle_id)
    messages.success(request, _("You have left the circle."))
    return SeeOther(reverse("settings_circles"))


def _circle(
    request: AuthenticatedRequest, circle_id: int, form: CircleForm, people: PeopleForm
) -> HttpResponse:
    found = own_circle(request.user, circle_id)
    context = {
        "circle": found,
        "form": form,
        "people_form": people,
        "page": members_page(found, Cursor.from_query(request.GET)),
    }
    return _settings(request, "graph/circle.html", form, people, **context)


def _settings(
    request: AuthenticatedRequest, template: str, *forms_shown: forms.Form, **context: Any
) -> HttpResponse:
    context |= {"tab": "circles", "here": "settings", "no_fab": True}
    return render_form(request, template, context, *forms_shown)


def _address(circle_id: int) -> str:
    return reverse("circle", args=[circle_id])
