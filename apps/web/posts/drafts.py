"""Saved drafts: list and delete them, save the composer as a draft, turn a post back into a draft."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.errors import DomainError, NotFound
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    require_get_or_post,
    return_url,
)
from apps.posts.actions.uploads import uploaded_pictures
from apps.posts.content.post import Picture
from apps.posts.models import Post, SavedDraft
from apps.posts.saved_drafts import delete_draft, save_draft, saved_drafts
from apps.timeline import publishing
from apps.timeline.thread import visible_item
from apps.web.forms.accounts import add_errors
from apps.web.forms.pictures import PictureForm, id_or_none, save_pictures
from apps.web.forms.posts import FIELD_NAMES, OPTIONS, fields_of_post, saved_fields
from apps.web.posts.compose import composer, form_of

PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class DraftRow:
    row: SavedDraft
    pictures: list[Picture]

    @property
    def text(self) -> str:
        """The draft's text, else its content warning, else the options of its poll."""
        fields = self.row.fields
        options = [fields[name] for name in OPTIONS if name in fields]
        return str(fields.get("body") or fields.get("content_warning") or " / ".join(options))


@require_get_or_post
@login_required
def drafts(request: AuthenticatedRequest) -> HttpResponseBase:
    """All drafts. POST saves the composer's form, and redirects here or, for htmx, returns the draft's id."""
    if request.method == "POST":
        return _save(request)
    rows = saved_drafts(request.user)
    ids = [number for row in rows for number in row.media_ids]
    pictures = {one.pk: Picture.of(one) for one in uploaded_pictures(request.user, ids)}
    shown = [
        DraftRow(row, [pictures[number] for number in row.media_ids if number in pictures])
        for row in rows
    ]
    return render(request, "timeline/drafts.html", {"drafts": shown, "here": "drafts"})


@require_POST
@login_required
def delete(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    delete_draft(request.user, number)
    if request.htmx:
        return HttpResponse(status=204)
    messages.success(request, _("Deleted."))
    return SeeOther("/drafts")


@require_get_or_post
@login_required
def redraft(request: AuthenticatedRequest, post_id: int) -> HttpResponseBase:
    """Delete one of the viewer's own posts, and open its content in the composer. GET asks for confirmation."""
    item = visible_item(request.user.pk, post_id)
    if not item.flags.own or item.is_repost:
        raise NotFound(_("This post isn't here."))
    if request.method != "POST":
        context = {"item": item, "back": return_url(request)}
        return render(request, "timeline/redraft.html", context)
    fields = fields_of_post(Post.objects.select_related("poll").get(pk=post_id))
    media_ids = [picture.id for picture in item.post.pictures]
    # first, so that the text is not lost if the rest fails
    draft = save_draft(request.user, fields, ())
    try:
        publishing.delete(post_id, by=request.user, keep_pictures=True)
    except DomainError:
        delete_draft(request.user, draft.pk)
        raise
    save_draft(request.user, fields, media_ids, number=draft.pk)
    return SeeOther(f"/compose?saved={draft.pk}")


def _save(request: AuthenticatedRequest) -> HttpResponseBase:
    number = id_or_none(request.POST.get("saved", ""))
    pictures = save_pictures(request.user, PictureForm.of(request))
    try:
        row = save_draft(request.user, saved_fields(request.POST), pictures.all_ids, number=number)
    except DomainError as error:
        if request.htmx:
            return HttpResponse(error.message, status=error.status, content_type=PLAIN)
        form = form_of(request, request.POST)
        add_errors(form, error, FIELD_NAMES)
        return composer(request, form, pictures, status=error.status)
    # even if a picture was refused: without the id, the script would store the next change as another draft
    if request.htmx:
        return HttpResponse(str(row.pk), content_type=PLAIN)
    if pictures.error is None:
        messages.success(request, _("Saved."))
    else:
        messages.error(request, pictures.error.message)
    return SeeOther("/drafts")
