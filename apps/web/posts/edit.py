"""Pages to edit and to delete a post."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from apps.errors import DomainError, NotFound
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    require_get_or_post,
    return_url,
)
from apps.http.verification import may_act_as_staff, redirect_to_second_factor
from apps.posts.actions.publish import require_deleter
from apps.posts.actions.uploads import uploaded_pictures
from apps.timeline import publishing
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import visible_item
from apps.web.forms.accounts import add_errors, render_form
from apps.web.forms.pictures import DisplayedPicture, PictureFields, PictureForm, save_pictures
from apps.web.forms.posts import FIELD_NAMES, EditForm, composer_context


@require_get_or_post
@login_required
def edit(request: AuthenticatedRequest, post_id: int) -> HttpResponseBase:
    item = _own_item(request, post_id)
    initial = {
        "body": item.post.body,
        "content_warning": item.post.content_warning,
        "language": item.post.language,
        "sensitive": item.post.sensitive,
    }
    if request.method != "POST":
        rows = uploaded_pictures(request.user, [picture.id for picture in item.post.pictures])
        return _edit_page(request, item, EditForm(initial=initial), PictureFields(rows))
    form, picture_form = EditForm(request.POST, initial=initial), PictureForm.of(request)
    if "take_out" in request.POST:
        ids = {str(change.id): change.id for change in picture_form.changes}
        remaining = picture_form.without(ids.get(request.POST["take_out"], 0))
        return _edit_page(request, item, form, save_pictures(request.user, remaining))
    pictures = save_pictures(request.user, picture_form)
    if form.is_valid():
        try:
            pictures.raise_error()
            _edit(request, post_id, form, picture_form, pictures)
        except DomainError as error:
            add_errors(form, error, FIELD_NAMES)
        else:
            return SeeOther(item.url)
    return _edit_page(request, item, form, pictures)


@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest, post_id: int) -> HttpResponseBase:
    item = visible_item(request.user.pk, post_id)
    if not item.flags.own:
        require_deleter(post_id, by=request.user)
        if not may_act_as_staff(request):
            return redirect_to_second_factor(request)
    back = return_url(request)
    if request.method != "POST":
        return render(
            request,
            "timeline/delete.html",
            {"item": item, "back": back},
        )
    publishing.delete(post_id, by=request.user)
    is_own_page = str(post_id) in back
    if request.htmx and not is_own_page:  # the script removes the post from the page
        return HttpResponse(_("Deleted."), content_type="text/plain; charset=utf-8")
    messages.success(request, _("Deleted."))
    url = "/" if is_own_page else back
    return HttpResponseClientRedirect(url) if request.htmx else SeeOther(url)


def _edit(
    request: AuthenticatedRequest,
    post_id: int,
    form: EditForm,
    picture_form: PictureForm,
    pictures: PictureFields,
) -> None:
    data = form.cleaned_data
    changes: dict[str, Any] = {
        "content_warning": data["content_warning"],
        "language": form.written_language,
    }
    if picture_form.is_present:
        ids = set(pictures.ids)
        changes |= {
            "media_ids": pictures.ids,
            "pictures": [change for change in picture_form.changes if change.id in ids],
            "sensitive": data["sensitive"],
        }
    publishing.edit(request.user, post_id, body=data["body"], **changes)


def _edit_page(
    request: AuthenticatedRequest, item: FeedItem, form: EditForm, pictures: PictureFields
) -> HttpResponse:
    displayed = [DisplayedPicture.of(row) for row in pictures.rows]
    context = {
        "item": item,
        "editing": item.id,
        **composer_context(form, displayed),
    }
    return render_form(request, "timeline/edit.html", context, form)


def _own_item(request: AuthenticatedRequest, post_id: int) -> FeedItem:
    item = visible_item(request.user.pk, post_id)
    if not item.flags.own or item.is_repost:
        raise NotFound(_("This post isn't here."))
    return item
