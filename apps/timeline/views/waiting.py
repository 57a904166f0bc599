"""Posts that wait for their time: seen, moved, taken back."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.visitors import MemberVisit, SeeOther, signed_in_only
from apps.paging import Cursor
from apps.posts.content import Picture
from apps.posts.drafts import Draft
from apps.posts.models import ScheduledPost
from apps.posts.scheduled import cancel, reschedule, scheduled_posts
from apps.refusals import Invalid
from apps.timeline.forms import MomentForm


@dataclass(frozen=True, slots=True)
class Waiting:
    """A post that waits, as its page shows it."""

    row: ScheduledPost
    draft: Draft
    pictures: list[Picture]
    form: MomentForm

    @classmethod
    def of(cls, row: ScheduledPost) -> "Waiting":
        """With the form to move it, which has names of its own on the page."""
        form = MomentForm(initial={"scheduled_at": row.scheduled_at}, auto_id=f"m{row.pk}_%s")
        pictures = [Picture.of(one) for one in row.attachments.all()]
        return cls(row, Draft.restored(row.draft), pictures, form)


@require_safe
@signed_in_only
def scheduled(request: MemberVisit) -> HttpResponse:
    """What waits, the last made first."""
    page = scheduled_posts(request.user, Cursor.from_query(request.GET))
    shown = page.mapped([Waiting.of(row) for row in page.items])
    context = {"page": shown, "here": "scheduled", "feed_url": request.path}
    return render(request, "timeline/scheduled.html", context)


@require_POST
@signed_in_only
def move(request: MemberVisit, number: int) -> HttpResponseBase:
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


@require_POST
@signed_in_only
def cancel_one(request: MemberVisit, number: int) -> HttpResponseBase:
    """Do not publish it."""
    cancel(request.user, number)
    messages.success(request, _("Deleted."))
    return SeeOther("/scheduled")
