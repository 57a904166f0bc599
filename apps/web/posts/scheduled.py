"""Pages of scheduled posts: list, reschedule or cancel them; retry, edit or discard failed posts."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.errors import Invalid
from apps.graph.groups.queries import circles_to_post_to
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required
from apps.pagination import Cursor
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
from apps.posts.actions.uploads import uploaded_pictures
from apps.posts.content.post import Picture
from apps.posts.models import ScheduledPost
from apps.web.forms.pictures import PictureFields
from apps.web.forms.posts import ComposeForm, MomentForm
from apps.web.posts.compose import composer_of_draft

ACTS: dict[str, Callable[[User, int], object]] = {
    "cancel": cancel,
    "retry": retry_failed,
    "discard": delete_failed,
}
MESSAGES = {
    "cancel": gettext_lazy("Deleted."),
    "retry": gettext_lazy("It will be retried in a moment."),
    "discard": gettext_lazy("Deleted."),
}


@dataclass(frozen=True, slots=True)
class ScheduledRow:
    row: ScheduledPost
    draft: Draft
    pictures: list[Picture]
    form: MomentForm

    @classmethod
    def of(cls, row: ScheduledPost) -> "ScheduledRow":
        form = MomentForm(initial={"scheduled_at": row.scheduled_at}, auto_id=f"m{row.pk}_%s")
        pictures = [Picture.of(attachment) for attachment in row.attachments.all()]
        return cls(row, Draft.restored(row.draft), pictures, form)


@require_safe
@login_required
def scheduled(request: AuthenticatedRequest) -> HttpResponse:
    """The scheduled posts, most recently created first; above the first page, the failed posts and the reasons."""
    cursor = Cursor.from_query(request.GET)
    page = scheduled_posts(request.user, cursor)
    rows = [ScheduledRow.of(row) for row in page.items]
    failed = failed_posts(request.user) if cursor == Cursor() else []
    context = {"page": page.with_items(rows), "here": "scheduled", "feed_url": request.path}
    context["failed"] = [(ScheduledRow.of(row), failure_reason(row)) for row in failed]
    return render(request, "timeline/scheduled.html", context)


@require_POST
@login_required
def move(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Reschedule a post; if the time is invalid, a message on the list says so."""
    form = MomentForm(request.POST)
    if not form.is_valid() or form.at is None:
        messages.error(request, _("Choose a time from five minutes to a year from now."))
        return SeeOther("/scheduled")
    try:
        reschedule(request.user, number, form.at)
    except Invalid as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Saved."))
    return SeeOther("/scheduled")


@require_safe
@login_required
def rewrite(request: AuthenticatedRequest, number: int) -> HttpResponse:
    """The composer, filled with a failed post. References to posts that the viewer can no longer see are dropped."""
    draft = Draft.restored(failed_post(request.user, number).draft)
    circle_ids = {circle.id for circle in circles_to_post_to(request.user)}
    initial = {**ComposeForm.initial_of(draft, circle_ids), "instead_of": number}
    pictures = PictureFields(uploaded_pictures(request.user, draft.media_ids))
    return composer_of_draft(request, initial, pictures)


@require_POST
@login_required
def act(request: AuthenticatedRequest, number: int, verb: str) -> HttpResponseBase:
    """Cancel a scheduled post; retry or discard a failed post."""
    ACTS[verb](request.user, number)
    messages.success(request, MESSAGES[verb])
    return SeeOther("/scheduled")
