"""Pages that change what is published: edit, delete."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from apps.errors import DomainError, NotFound
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, page, return_address
from apps.http.verification import ask_for_second_factor, may_act_as_staff
from apps.posts.actions.publish import require_deleter
from apps.posts.uploads import uploaded_pictures
from apps.timeline import publishing
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import visible_item
from apps.web.forms.accounts import form_page, show_error
from apps.web.forms.pictures import DisplayedPicture, PictureFields, PictureForm, settle
from apps.web.forms.posts import FIELD_NAMES, EditForm, composer_context


@page
@login_required
def edit(request: AuthenticatedRequest, post_id: int) -> HttpResponseBase:
    """Change the text and the pictures of one's own post."""
    item = _own(request, post_id)
    said = {
        "body": item.post.body,
        "content_warning": item.post.content_warning,
        "language": item.post.language,
        "sensitive": item.post.sensitive,
    }
    if request.method != "POST":
        rows = uploaded_pictures(request.user, [one.id for one in item.post.pictures])
        return _edit_page(request, item, EditForm(initial=said), PictureFields(rows))
    form, shown = EditForm(request.POST, initial=said), PictureForm.of(request)
    if "take_out" in request.POST:
        taken = {str(one.id): one.id for one in shown.named}.get(request.POST["take_out"], 0)
        return _edit_page(request, item, form, settle(request.user, shown.without(taken)))
    pictures = settle(request.user, shown)
    if form.is_valid():
        try:
            pictures.insist()
            _edit(request, post_id, form, shown, pictures)
        except DomainError as refusal:
            show_error(form, refusal, FIELD_NAMES)
        else:
            return SeeOther(item.url)
    return _edit_page(request, item, form, pictures)


@page
@login_required
def delete(request: AuthenticatedRequest, post_id: int) -> HttpResponseBase:
    """Ask, then delete."""
    item = visible_item(request.user.pk, post_id)
    if not item.flags.own:
        require_deleter(post_id, by=request.user)
        if not may_act_as_staff(request):
            return ask_for_second_factor(request)
    back = return_address(request)
    if request.method != "POST":
        return render(request, "timeline/delete.html", {"item": item, "back": back, "no_fab": True})
    publishing.delete(post_id, by=request.user)
    on_its_own_page = str(post_id) in back
    if request.htmx and not on_its_own_page:  # it is taken out of the page it stands on
        return HttpResponse(_("Deleted."), content_type="text/plain; charset=utf-8")
    messages.success(request, _("Deleted."))
    there = "/" if on_its_own_page else back
    return HttpResponseClientRedirect(there) if request.htmx else SeeOther(there)


def _edit(
    request: AuthenticatedRequest,
    post_id: int,
    form: EditForm,
    said: PictureForm,
    pictures: PictureFields,
) -> None:
    data = form.cleaned_data
    changes: dict[str, Any] = {"content_warning": data["content_warning"], "language": form.written_language}  # fmt: skip
    if said.is_there:
        kept = set(pictures.ids)
        changes |= {
            "media_ids": pictures.ids,
            "pictures": [one for one in said.named if one.id in kept],
            "sensitive": data["sensitive"],
        }
    publishing.edit(request.user, post_id, body=data["body"], **changes)


def _edit_page(
    request: AuthenticatedRequest, item: FeedItem, form: EditForm, pictures: PictureFields
) -> HttpResponse:
    shown = [DisplayedPicture.of(row) for row in pictures.rows]
    context = {"item": item, "editing": item.id, "no_fab": True, **composer_context(form, shown)}
    return form_page(request, "timeline/edit.html", context, form)


def _own(request: AuthenticatedRequest, post_id: int) -> FeedItem:
    item = visible_item(request.user.pk, post_id)
    if not item.flags.own or item.is_repost:
        raise NotFound(_("This post isn't here."))
    return item
