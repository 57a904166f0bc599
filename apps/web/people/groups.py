"""Pages of lists and circles: create, rename, fill or delete a group, or leave a circle."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle, user_ids_named
from apps.errors import DomainError, Invalid, NotAllowed, NotFound
from apps.graph.groups.actions import (
    add_members,
    change_group,
    create_group,
    delete_group,
    leave_circle,
    remove_members,
)
from apps.graph.groups.queries import (
    groups_of,
    groups_with,
    joined_circles,
    members_page,
    own_group,
)
from apps.graph.models import Circle, Group, UserList
from apps.graph.queries import friends_count, relationships
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.pagination import Cursor
from apps.web.forms.accounts import add_errors, render_form
from apps.web.forms.graph import CircleForm, CircleMembersForm, ListForm, ListMembersForm


@dataclass(frozen=True)
class Pages:
    """The differences between the pages for lists and the pages for circles."""

    kind: type[Group]
    name: str  # the first word in the names of URLs and templates
    index: str  # the URL name of the page that lists the groups
    form: type[forms.Form]
    members_form: type[forms.Form]
    removed: Promise
    context: dict[str, str]

    def address_of(self, group_id: int) -> str:
        return reverse(f"{self.name}_edit", args=[group_id])


LISTS = Pages(
    UserList,
    "list",
    "lists",
    ListForm,
    ListMembersForm,
    gettext_lazy("@%(handle)s was removed from the list."),
    {"here": "lists"},
)
CIRCLES = Pages(
    Circle,
    "circle",
    "settings_circles",
    CircleForm,
    CircleMembersForm,
    gettext_lazy("@%(handle)s was removed from the circle."),
    {"here": "settings", "tab": "circles"},
)


@require_get_or_post
@login_required
def index(request: AuthenticatedRequest, pages: Pages) -> HttpResponseBase:
    """The viewer's lists, or the circles that the viewer owns or is in, and a form for a new list or circle."""
    form = pages.form(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            group = create_group(pages.kind, request.user, **form.cleaned_data)
        except Invalid as refusal:
            add_errors(form, refusal, {pages.kind.NAME_PARAMETER: "name"})
        else:
            return SeeOther(pages.address_of(group.pk))
    context: dict[str, Any] = {"groups": groups_of(pages.kind, request.user), "form": form}
    if pages is CIRCLES:
        context["others"] = joined_circles(request.user)
        context["friends"] = friends_count(request.user.pk)
    return _render(request, pages, f"{pages.name}s", context, form)


@require_get_or_post
@login_required
def edit(request: AuthenticatedRequest, pages: Pages, group_id: int) -> HttpResponseBase:
    """A form for the name and the options of a group, and its members."""
    group = own_group(pages.kind, request.user, group_id)
    form = _form_of(pages, group, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            change_group(pages.kind, request.user, group_id, **form.cleaned_data)
        except Invalid as refusal:
            add_errors(form, refusal, {pages.kind.NAME_PARAMETER: "name"})
        else:
            messages.success(request, _("Saved."))
            return SeeOther(pages.address_of(group_id))
    return _edit_page(request, pages, group, form, pages.members_form())


@require_POST
@login_required
def add(request: AuthenticatedRequest, pages: Pages, group_id: int) -> HttpResponseBase:
    """Add all the people named in the form; if one of them cannot be added, add nobody."""
    group = own_group(pages.kind, request.user, group_id)
    members_form = pages.members_form(request.POST)
    if members_form.is_valid():
        try:
            ids = user_ids_named(members_form.cleaned_data["handles"])
            add_members(pages.kind, request.user, group_id, ids)
        except (Invalid, NotAllowed, NotFound) as refusal:
            members_form.add_error("handles", refusal.message)
        else:
            return SeeOther(pages.address_of(group_id))
    return _edit_page(request, pages, group, _form_of(pages, group), members_form)


@require_POST
@login_required
def remove(request: AuthenticatedRequest, pages: Pages, group_id: int) -> HttpResponseBase:
    person = user_by_handle(request.POST.get("handle", ""))
    remove_members(pages.kind, request.user, group_id, [person.pk])
    messages.success(request, str(pages.removed) % {"handle": person.handle})
    return SeeOther(pages.address_of(group_id))


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, pages: Pages, group_id: int) -> HttpResponseBase:
    """Delete a group, after a confirmation."""
    group = own_group(pages.kind, request.user, group_id)
    if request.method != "POST":
        context = {"group": group, "back": pages.address_of(group_id)}
        return render(request, f"graph/groups/{pages.name}_delete.html", context)
    delete_group(pages.kind, request.user, group_id)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse(pages.index))


@require_POST
@login_required
def leave(request: AuthenticatedRequest, group_id: int) -> HttpResponseBase:
    """Leave somebody else's circle."""
    leave_circle(request.user, group_id)
    messages.success(request, _("You have left the circle."))
    return SeeOther(reverse(CIRCLES.index))


@require_get_or_post
@login_required
def of_person(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """Choose the viewer's lists and circles that contain an account.

    Lists are offered if the viewer follows the account or has asked to; circles, if the account follows the viewer.
    """
    other = user_by_handle(handle)
    related = relationships(request.user.pk, [other.pk])[0]
    possible = [LISTS] if related.following or related.requested else []
    if related.followed_by:
        possible.append(CIRCLES)
    if request.method == "POST":
        try:
            for pages in possible:
                _be_in(request, pages, other)
        except DomainError as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, _("Saved."))
            return SeeOther(other.url)
    boxes = {}
    for pages in possible:
        there = _ids_with(pages, request.user, other)
        groups = groups_of(pages.kind, request.user)
        boxes[f"{pages.name}s"] = [(group, group.pk in there) for group in groups]
    context = {"person": other, **boxes}
    return render(request, "graph/groups/person.html", context)


def _be_in(request: AuthenticatedRequest, pages: Pages, other: User) -> None:
    """Add an account to the ticked groups of the viewer, and remove it from the others."""
    ticked = set(request.POST.getlist(pages.name))
    there = _ids_with(pages, request.user, other)
    for group in groups_of(pages.kind, request.user):
        if str(group.pk) in ticked and group.pk not in there:
            add_members(pages.kind, request.user, group.pk, [other.pk])
        elif str(group.pk) not in ticked and group.pk in there:
            remove_members(pages.kind, request.user, group.pk, [other.pk])


def _ids_with(pages: Pages, owner: User, member: User) -> set[int]:
    return {group.pk for group in groups_with(pages.kind, owner, member.pk)}


def _form_of(pages: Pages, group: Group, data: Any = None) -> forms.Form:
    return pages.form(data, initial={name: getattr(group, name) for name in pages.form.base_fields})


def _edit_page(
    request: AuthenticatedRequest,
    pages: Pages,
    group: Group,
    form: forms.Form,
    members_form: forms.Form,
) -> HttpResponse:
    members = members_page(group, Cursor.from_query(request.GET))
    context = {"group": group, "form": form, "members_form": members_form, "page": members}
    return _render(request, pages, pages.name, context, form, members_form)


def _render(
    request: AuthenticatedRequest,
    pages: Pages,
    template: str,
    context: dict[str, Any],
    *shown: forms.Form,
) -> HttpResponse:
    context = {**context, **pages.context, "pages": pages}
    return render_form(request, f"graph/groups/{template}.html", context, *shown)
