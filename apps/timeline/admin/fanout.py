"""Staff pages for the delivery ledger: one job per post, with the receipts of its chunks."""

from math import ceil
from types import ModuleType
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import user_link
from apps.events.admin import StaffList
from apps.events.leases import State
from apps.posts.admin import post_link, search_by_post_or_account
from apps.timeline.fanout import dispatch
from apps.timeline.fanout.progress import delivery_progress, discard_dead, with_receipts
from apps.timeline.models import FanoutChunk, FanoutJob


class LedgerList(StaffList):
    """Base class of the delivery lists: shows the sums of the receipts, and retries dead chunks and splits."""

    work: ModuleType  # the module with `retry_dead`

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return with_receipts(super().get_queryset(request))

    @admin.display(description=gettext_lazy("followers"))
    def expected(self, job: Any) -> int:
        """The number of readers to deliver to: delivered, dormant, pending and given up together."""
        return delivery_progress(job).expected

    @admin.display(description=gettext_lazy("delivered"))
    def delivered(self, job: Any) -> int:
        return delivery_progress(job).delivered

    @admin.display(description=gettext_lazy("dormant"))
    def dormant(self, job: Any) -> int:
        """The number of readers whose home cache is rebuilt when they return."""
        return delivery_progress(job).dormant

    @admin.display(description=gettext_lazy("pending"))
    def pending(self, job: Any) -> int:
        return delivery_progress(job).pending

    @admin.display(description=gettext_lazy("given up"))
    def given_up(self, job: Any) -> int:
        """The number of readers to whom the post is no longer delivered, because staff gave up the dead letters."""
        return delivery_progress(job).lost

    def with_dead_letters(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """The selected deliveries that are dead letters or have dead chunks."""
        jobs = self.chosen(request, queryset)
        return [job for job in jobs if job.dead_count or job.state == State.DEAD]

    @admin.action(description=gettext_lazy("Retry dead letters"), permissions=["intervene"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        jobs = self.with_dead_letters(request, queryset)
        number = self.work.retry_dead([job.pk for job in jobs])
        self.log_each(request, jobs, _("Retried."))
        text = ngettext(
            "%(count)d chunk will be retried.", "%(count)d chunks will be retried.", number
        )
        self.message_user(request, text % {"count": number})


class ChunkState(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "chunks"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            (State.PENDING.value, gettext_lazy("With pending chunks")),
            (State.DEAD.value, gettext_lazy("With dead letters")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in {State.PENDING, State.DEAD}:
            return queryset
        chunks = FanoutChunk.objects.filter(job=OuterRef("pk"), state=self.value())
        return queryset.filter(Exists(chunks))


class ChunkInline(admin.TabularInline):
    model = FanoutChunk
    template = "admin/rows.html"
    extra = 0
    can_delete = False
    fields = readonly_fields = (
        "first_edge",
        "last_edge",
        "expected",
        "delivered",
        "dormant",
        "lost",
        "state",
        "attempts",
        "due_at",
        "finished_at",
        "last_error",
        "is_virtual",
    )
    ordering = ("is_virtual", "first_edge")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(FanoutJob)
class FanoutJobAdmin(LedgerList):
    work = dispatch

    list_display = (
        "post_id",
        "author_link",
        "mode",
        "progress",
        "expected",
        "delivered",
        "dormant",
        "pending",
        "given_up",
        "rate",
        "created_at",
    )
    list_filter = (ChunkState, "mode")
    search_fields = ("=post__id",)
    search_help_text = gettext_lazy("The number of a post, or the full handle of its author.")
    ordering = ("-post_id",)
    actions = ("retry", "discard")
    inlines = (ChunkInline,)
    fields = readonly_fields = (
        "post_link",
        "author_link",
        "mode",
        "progress",
        "expected",
        "delivered",
        "dormant",
        "pending",
        "given_up",
        "rate",
        "last_error",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[FanoutJob]:
        jobs: QuerySet[FanoutJob] = super().get_queryset(request)
        return jobs.prefetch_related("post__author")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return search_by_post_or_account(queryset, search_term, account="post__author"), False

    @admin.display(description=gettext_lazy("post"))
    def post_link(self, job: FanoutJob) -> SafeString | str:
        return post_link(job.post_id)

    @admin.display(description=gettext_lazy("author"))
    def author_link(self, job: FanoutJob) -> SafeString:
        return user_link(job.post.author)

    @admin.display(description=gettext_lazy("state"))
    def progress(self, job: Any) -> str:
        """The numbers of finished chunks and dead letters, and whether the follower list is still being split."""
        done, chunks, dead = job.done_count or 0, job.chunk_count or 0, job.dead_count or 0
        parts = [_("%(done)d of %(all)d done") % {"done": done, "all": chunks}]
        if job.state == State.PENDING:
            parts.append(_("still splitting"))
        if number := dead + (job.state == State.DEAD):
            text = ngettext("%(count)d dead letter", "%(count)d dead letters", number)
            parts.append(text % {"count": number})
        return ", ".join(parts)

    @admin.display(description=gettext_lazy("speed"))
    def rate(self, job: Any) -> str:
        progress = delivery_progress(job)
        if progress.per_second is None:
            return "-"
        speed = _("%(number)s followers a second") % {"number": f"{progress.per_second:,.0f}"}
        if not progress.pending:
            return speed
        return _("%(speed)s, %(seconds)d s left") % {
            "speed": speed,
            "seconds": ceil(progress.seconds_left or 0),
        }

    @admin.action(description=gettext_lazy("Discard dead letters"), permissions=["discard"])
    def discard(
        self, request: HttpRequest, queryset: QuerySet[FanoutJob]
    ) -> TemplateResponse | None:
        """Give up dead chunks and the rest of dead jobs permanently, after a confirmation."""
        jobs = self.with_dead_letters(request, queryset)
        question = ngettext(
            "Discard the dead letters of %(count)d delivery? Its remaining readers will not get the post.",
            "Discard the dead letters of %(count)d deliveries? Their remaining readers will not get the posts.",
            len(jobs),
        ) % {"count": len(jobs)}
        if jobs and (page := self.confirmation(request, jobs, question=question)):
            return page
        number = discard_dead([job.pk for job in jobs])
        self.log_each(request, jobs, question)
        text = ngettext("%(count)d chunk discarded.", "%(count)d chunks discarded.", number)
        self.message_user(request, text % {"count": number})
        return None
