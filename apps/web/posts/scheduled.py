"""Posts that wait for their time: seen, moved, taken back; and those that could not be published: tried again, rewritten."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.errors import Invalid
from apps.graph.circle_queries import circles_to_post_to
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required
from apps.paging import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.actions.schedule import (
    cancel,
    delete_failed,
    failed_post,
    failed_posts,
    failure_reason,
    reschedule,
    retry_failed,
    scheduled_posts,
)
from apps.posts.content.post import Picture
from apps.posts.models import ScheduledPost
from apps.posts.uploads import uploaded_pictures
from apps.web.forms.pictures import PictureFields
from apps.web.forms.posts import ComposeForm, MomentForm
from apps.web.posts.compose import composer, form_of, item_of

LINKS = ("reply_to", "quote")  # what a post may be about


@dataclass(frozen=True, slots=True)
class ScheduledRow:
    """A post that waits, as its page shows it."""

    row: ScheduledPost
    draft: Draft
    pictures: list[Picture]
    form: MomentForm

    @classmethod
    def of(cls, row: ScheduledPost) -> "ScheduledRow":
        """With the form to move it, which has names of its own on the page."""
        form = MomentForm(initial={"scheduled_at": row.scheduled_at}, auto_id=f"m{row.pk}_%s")
        pictures = [Picture.of(one) for one in row.attachments.all()]
        return cls(row, Draft.restored(row.draft), pictures, form)


@require_safe
@login_required
def scheduled(request: AuthenticatedRequest) -> HttpResponse:
    """What waits, the last made first; above it what could not be published, and why."""
    cursor = Cursor.from_query(request.GET)
    page = scheduled_posts(request.user, cursor)
    shown = page.mapped([ScheduledRow.of(row) for row in page.items])
    failed = failed_posts(request.user) if cursor == Cursor() else []
    context = {"page": shown, "here": "scheduled", "feed_url": request.path}
    context["failed"] = [(ScheduledRow.of(row), failure_reason(row)) for row in failed]
    return render(request, "timeline/scheduled.html", context)


@require_POST
@login_required
def move(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Another time; what was refused is said on the page."""
    form = MomentForm(request.POST)
    if not form.is_valid() or form.at is None:
        messages.error(request, _("Choose a time from five minutes to a year from now."))
        return SeeOther("/scheduled")
    try:
        reschedule(request.user, number, form.at)
    except Invalid as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, _("Saved."))
    return SeeOther("/scheduled")


@require_safe
@login_required
def rewrite(request: AuthenticatedRequest, number: int) -> HttpResponse:
    """The composer with a post that could not be published. What it answered or quoted and is gone, it does without."""
    draft = Draft.restored(failed_post(request.user, number).draft)
    circle_ids = {circle.id for circle in circles_to_post_to(request.user)}
    initial = {**ComposeForm.initial_of(draft, circle_ids), "instead_of": number}
    gone = [one for one in LINKS if initial[one] and not _is_there(request, initial[one])]
    form = form_of(request, initial={**initial, **dict.fromkeys(gone, "")})
    note = _("What this post was about is not there any more. It will stand on its own.")
    pictures = PictureFields(uploaded_pictures(request.user, draft.media_ids))
    return composer(request, form, pictures, note=note if gone else "")


def _is_there(request: AuthenticatedRequest, post_id: str) -> bool:
    return item_of(request, post_id, strict=False) is not None


def _done(request: AuthenticatedRequest, said: str) -> HttpResponseBase:
    messages.success(request, said)
    return SeeOther("/scheduled")


@require_POST
@login_required
def retry(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Try to publish it once more."""
    retry_failed(request.user, number)
    return _done(request, _("It is tried again in a moment."))


@require_POST
@login_required
def discard(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Give up a post that could not be published."""
    delete_failed(request.user, number)
    return _done(request, _("Deleted."))


@require_POST
@login_required
def cancel_one(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Do not publish it."""
    cancel(request.user, number)
    return _done(request, _("Deleted."))
