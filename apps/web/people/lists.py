"""Pages of lists: all of them with a form for a new one; one with its people. Its posts are in the timeline app."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.queries import user_by_handle, user_ids_named
from apps.errors import Invalid, NotFound
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.lists.actions import (
    add_to_list,
    change_list,
    create_list,
    delete_list,
    remove_from_list,
)
from apps.lists.models import UserList
from apps.lists.queries import lists_of, members_page, own_list
from apps.paging import Cursor
from apps.web.forms.accounts import add_errors, render_form
from apps.web.forms.lists import FollowedForm, ListForm


@require_get_or_post
@login_required
def lists(request: AuthenticatedRequest) -> HttpResponseBase:
    """One's lists, and a form for a new one."""
    form = ListForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = create_list(request.user, **form.cleaned_data)
        except Invalid as refusal:
            add_errors(form, refusal)
        else:
            return SeeOther(_address(made.pk))
    context = {"lists": lists_of(request.user), "form": form}
    return _render(request, "lists/index.html", form, **context)


@require_get_or_post
@login_required
def edit(request: AuthenticatedRequest, list_id: int) -> HttpResponseBase:
    """One of one's lists: what it is called, what it shows, and who is in it."""
    found = own_list(request.user, list_id)
    form = ListForm(request.POST or None, initial=_said(found))
    if request.method == "POST" and form.is_valid():
        try:
            change_list(request.user, list_id, **form.cleaned_data)
        except Invalid as refusal:
            add_errors(form, refusal)
        else:
            messages.success(request, _("Saved."))
            return SeeOther(_address(list_id))
    return _edit_page(request, found, form, FollowedForm())


@require_POST
@login_required
def add(request: AuthenticatedRequest, list_id: int) -> HttpResponseBase:
    """Put people into a list, all who are named or none of them."""
    found, people = own_list(request.user, list_id), FollowedForm(request.POST)
    if people.is_valid():
        try:
            add_to_list(request.user, list_id, user_ids_named(people.cleaned_data["handles"]))
        except (Invalid, NotFound) as refusal:
            people.add_error("handles", refusal.message)
        else:
            return SeeOther(_address(list_id))
    return _edit_page(request, found, ListForm(initial=_said(found)), people)


@require_POST
@login_required
def remove(request: AuthenticatedRequest, list_id: int) -> HttpResponseBase:
    """Take somebody out."""
    person = user_by_handle(request.POST.get("handle", ""))
    remove_from_list(request.user, list_id, [person.pk])
    messages.success(request, _("@%(handle)s is out of the list.") % {"handle": person.handle})
    return SeeOther(_address(list_id))


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, list_id: int) -> HttpResponseBase:
    """Ask, then delete."""
    found = own_list(request.user, list_id)
    if request.method != "POST":
        context = {"list": found, "back": _address(list_id), "no_fab": True}
        return render(request, "lists/delete.html", context)
    delete_list(request.user, list_id)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("lists"))


def _said(found: UserList) -> dict[str, Any]:
    names = ("title", "replies_policy", "is_exclusive")
    return {name: getattr(found, name) for name in names}


def _edit_page(
    request: AuthenticatedRequest, found: UserList, form: ListForm, people: FollowedForm
) -> HttpResponse:
    members = members_page(found, Cursor.from_query(request.GET))
    context = {"list": found, "form": form, "people_form": people, "page": members}
    return _render(request, "lists/edit.html", form, people, **context)


def _render(
    request: AuthenticatedRequest, template: str, *forms_shown: forms.Form, **context: Any
) -> HttpResponse:
    context |= {"here": "lists", "no_fab": True}
    return render_form(request, template, context, *forms_shown)


def _address(list_id: int) -> str:
    return reverse("list_edit", args=[list_id])
