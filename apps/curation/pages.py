"""The pages for collections: one collection, those of an account or of the viewer, and forms to change them."""

from collections import defaultdict
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.queries import user_by_handle, user_ids_named
from apps.curation import actions
from apps.curation.forms import CollectionForm, PeopleForm
from apps.curation.models import Collection
from apps.curation.queries import (
    Shown,
    approval,
    collection_for,
    collections_of,
    collections_with,
    own_collection,
    shown,
)
from apps.errors import DomainError
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    login_required,
    require_get_or_post,
    viewer_id_of,
)
from apps.pagination import Cursor, page_of_rows
from apps.web.forms.accounts import add_errors, render_form
from apps.web.people.relationships import follow_buttons

HERE = {"here": "home"}


@require_safe
def collection(request: SiteRequest, collection_id: int) -> HttpResponseBase:
    """A collection with its people."""
    viewer_id = viewer_id_of(request)
    [one] = shown([collection_for(viewer_id, collection_id)], viewer_id)
    people = [item.member for item in one.items]
    context = {
        "one": one,
        "owner": one.collection.owner,
        "people": people,
        "is_own": viewer_id == one.collection.owner_id,
        "own_item": one.item_of(viewer_id),
        **follow_buttons(viewer_id, people),
    }
    context["strangers"] = sum(
        person.pk != viewer_id
        and person.pk not in context["following"]
        and person.pk not in context["requested"]
        for person in people
    )
    return render(request, "curation/collection.html", context)


@require_safe
def of_account(request: SiteRequest, handle: str) -> HttpResponseBase:
    """The collections of an account."""
    owner, viewer_id = user_by_handle(handle), viewer_id_of(request)
    if handle != owner.handle:
        return redirect("account_collections", owner.handle, permanent=True)
    rows = shown(list(collections_of(owner, viewer_id)), viewer_id)
    context = {"owner": owner, "collections": rows, "is_own": viewer_id == owner.pk}
    return render(request, "curation/account.html", context)


@require_get_or_post
@login_required
def index(request: AuthenticatedRequest) -> HttpResponseBase:
    """The viewer's collections, a form for a new one, and other people's collections that the viewer is in."""
    viewer, form = request.user, CollectionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = actions.create_collection(viewer, **form.cleaned_data)
        except DomainError as error:
            add_errors(form, error, {"tag_name": "tag"})
        else:
            return SeeOther(reverse("collection_edit", args=[made.pk]))
    own = shown(list(collections_of(viewer, viewer.pk)), viewer.pk)
    page = page_of_rows(collections_with(viewer), Cursor.from_query(request.GET))
    inside = [one for one in shown(page.items, viewer.pk) if one.collection.owner_id != viewer.pk]
    context = {
        **HERE,
        "form": form,
        "own": own,
        "is_full": len(own) >= actions.MAX_COLLECTIONS,
        "inside": inside,
        "page": page,
        "approval": approval(viewer),
    }
    return render_form(request, "curation/index.html", context, form)


@require_get_or_post
@login_required
def edit(request: AuthenticatedRequest, collection_id: int) -> HttpResponseBase:
    """The page for changing the fields of a collection and its people."""
    row = own_collection(request.user, collection_id)
    form = CollectionForm(request.POST or None, collection=row)
    if request.method == "POST" and form.is_valid():
        try:
            actions.change_collection(request.user, collection_id, **form.cleaned_data)
        except DomainError as error:
            add_errors(form, error, {"tag_name": "tag"})
        else:
            messages.success(request, _("Saved."))
            return SeeOther(row.url)
    return _edit_page(request, row, form, PeopleForm())


@require_POST
@login_required
def add(request: AuthenticatedRequest, collection_id: int) -> HttpResponseBase:
    """Add all of the named people, or none of them."""
    row, form = own_collection(request.user, collection_id), PeopleForm(request.POST)
    if form.is_valid():
        try:
            ids = user_ids_named(form.cleaned_data["handles"])
            actions.add_accounts(request.user, collection_id, ids)
        except DomainError as error:
            form.add_error("handles", error.message)
        else:
            return _to_edit(row)
    return _edit_page(request, row, CollectionForm(collection=row), form)


@require_POST
@login_required
def remove(request: AuthenticatedRequest, collection_id: int, item_id: int) -> HttpResponseBase:
    """Remove one person from a collection."""
    row = own_collection(request.user, collection_id)
    actions.remove_item(request.user, collection_id, item_id)
    messages.success(request, _("Removed from the collection."))
    return _to_edit(row)


@require_POST
@login_required
def remove_hidden(request: AuthenticatedRequest, collection_id: int) -> HttpResponseBase:
    """Remove the people of a collection who are hidden from everybody."""
    row = own_collection(request.user, collection_id)
    actions.remove_hidden(request.user, collection_id)
    messages.success(request, _("Removed from the collection."))
    return _to_edit(row)


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, collection_id: int) -> HttpResponseBase:
    """Ask for confirmation, then delete a collection."""
    row = own_collection(request.user, collection_id)
    if request.method != "POST":
        back = reverse("collection_edit", args=[row.pk])
        return render(request, "curation/delete.html", {"collection": row, "back": back})
    actions.delete_collection(request.user, collection_id)
    messages.success(request, _("Deleted."))
    return SeeOther(reverse("collections"))


@require_get_or_post
@login_required
def leave(request: AuthenticatedRequest, collection_id: int) -> HttpResponseBase:
    """Ask for confirmation, then remove the viewer from somebody's collection."""
    row = collection_for(request.user.pk, collection_id)
    if request.method != "POST":
        context = {"collection": row, "owner": row.owner, "back": row.url}
        return render(request, "curation/leave.html", context)
    actions.leave(request.user, collection_id, actions.item_of(row, request.user).pk)
    messages.success(request, _("You have left the collection."))
    return SeeOther(reverse("collections"))


@require_POST
@login_required
def follow_all(request: AuthenticatedRequest, collection_id: int) -> HttpResponseBase:
    """Follow everybody in a collection, and tell the viewer who could not be followed."""
    viewer = request.user
    [one] = shown([collection_for(viewer.pk, collection_id)], viewer.pk)
    done = actions.follow_each(viewer, [item.member for item in one.items])
    if done.followed:
        text = ngettext(
            "You follow %(n)d more account.", "You follow %(n)d more accounts.", done.followed
        )
        messages.success(request, text % {"n": done.followed})
    if done.asked:
        text = ngettext(
            "You have sent %(n)d follow request.",
            "You have sent %(n)d follow requests.",
            done.asked,
        )
        messages.success(request, text % {"n": done.asked})
    handles: dict[str, list[str]] = defaultdict(list)
    for person, reason in done.failed:
        handles[reason].append(f"@{person.handle}")
    for reason, names in handles.items():
        text = _("Not followed: %(names)s. %(reason)s")
        messages.error(request, text % {"names": ", ".join(names), "reason": reason})
    if not (done.followed or done.asked or done.failed):
        messages.info(request, _("You follow all of them already."))
    return SeeOther(one.url)


@require_get_or_post
@login_required
def of_person(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """Choose which of the viewer's collections an account is in."""
    viewer, person = request.user, user_by_handle(handle)
    own = shown(list(collections_of(viewer, viewer.pk)), viewer.pk)
    if request.method == "POST":
        ticked = set(request.POST.getlist("collection"))
        try:
            for one in own:
                _be_in(request, one, person.pk, is_wanted=str(one.collection.pk) in ticked)
        except DomainError as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, _("Saved."))
            return SeeOther(person.url)
        own = shown(list(collections_of(viewer, viewer.pk)), viewer.pk)
    boxes = [(one, one.item_of(person.pk) is not None) for one in own]
    may_add = actions.may_add(viewer, person)
    context = {"person": person, "boxes": boxes, "may_add": may_add}
    context["can_change"] = boxes and (may_add or any(is_in for _one, is_in in boxes))
    return render(request, "curation/person.html", context)


def _be_in(request: AuthenticatedRequest, one: Shown, person_id: int, *, is_wanted: bool) -> None:
    item = one.item_of(person_id)
    if is_wanted and item is None:
        actions.add_account(request.user, one.collection.pk, person_id)
    elif item is not None and not is_wanted:
        actions.remove_item(request.user, one.collection.pk, item.id)


def _edit_page(
    request: AuthenticatedRequest, row: Collection, form: CollectionForm, people_form: PeopleForm
) -> HttpResponse:
    [one] = shown([row], None)  # no viewer, to include people whom the owner has just blocked
    context: dict[str, Any] = {
        **HERE,
        "one": one,
        "form": form,
        "people_form": people_form,
        "maximum": actions.MAX_ITEMS,
        "is_full": len(one.items) + one.hidden >= actions.MAX_ITEMS,
    }
    return render_form(request, "curation/edit.html", context, form, people_form)


def _to_edit(row: Collection) -> HttpResponseBase:
    return SeeOther(f"{reverse('collection_edit', args=[row.pk])}#people")


urlpatterns: list[URLPattern] = [
    path("collections", index, name="collections"),
    path("collections/<int:collection_id>", collection, name="collection"),
    path("collections/<int:collection_id>/edit", edit, name="collection_edit"),
    path("collections/<int:collection_id>/add", add, name="collection_add"),
    path("collections/<int:collection_id>/remove/<int:item_id>", remove, name="collection_remove"),
    path(
        "collections/<int:collection_id>/remove_hidden",
        remove_hidden,
        name="collection_remove_hidden",
    ),
    path("collections/<int:collection_id>/delete", delete, name="collection_delete"),
    path("collections/<int:collection_id>/leave", leave, name="collection_leave"),
    path("collections/<int:collection_id>/follow", follow_all, name="collection_follow"),
    path("@<str:handle>/collections", of_account, name="account_collections"),
    path("@<str:handle>/collect", of_person, name="collect"),
]
