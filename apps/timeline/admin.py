"""Staff see what fan-out owes and did: the delivery ledger, one job a post, with the receipts of its chunks."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import user_link
from apps.events.admin import StaffList
from apps.events.leases import State
from apps.posts.admin import post_link, search_by_post_or_account
from apps.timeline.fanout import retry_dead
from apps.timeline.models import FanoutChunk, FanoutJob


class ChunkState(admin.SimpleListFilter):
    """Jobs with a chunk that is pending or dead."""

    title = gettext_lazy("state")
    parameter_name = "chunks"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The choices."""
        return [
            (State.PENDING.value, gettext_lazy("With pending chunks")),
            (State.DEAD.value, gettext_lazy("With dead letters")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Apply the choice."""
        if self.value() not in {State.PENDING, State.DEAD}:
            return queryset
        chunks = FanoutChunk.objects.filter(job=OuterRef("pk"), state=self.value())
        return queryset.filter(Exists(chunks))


class ChunkInline(admin.TabularInline):
    """The pieces of a job, for reading."""

    model = FanoutChunk
    extra = 0
    can_delete = False
    fields = readonly_fields = (
        "first_edge", "last_edge", "expected", "delivered", "dormant", "state", "attempts", "due_at", "finished_at",
        "last_error",
    )  # fmt: skip
    ordering = ("first_edge",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Chunks are cut by fan-out."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Receipts are not written by hand."""
        return False


@admin.register(FanoutJob)
class FanoutJobAdmin(StaffList):
    """Deliveries, newest post first."""

    list_display = ("post_id", "author_link", "state", "expected", "delivered", "dormant", "created_at")  # fmt: skip
    list_filter = (ChunkState,)
    search_fields = ("=post__id",)
    search_help_text = gettext_lazy("The number of a post, or the whole handle of its author.")
    ordering = ("-post_id",)
    actions = ("retry",)
    inlines = (ChunkInline,)
    fields = readonly_fields = ("post_link", "author_link", "state", "expected", "delivered", "dormant", "created_at")  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[FanoutJob]:
        """Jobs with their authors and with the sums of their chunks."""
        jobs: QuerySet[FanoutJob] = super().get_queryset(request)
        return jobs.select_related("post__author").annotate(
            chunk_count=_of_chunks(Count("pk")),
            done_count=_of_chunks(Count("pk", filter=Q(state=State.DONE))),
            dead_count=_of_chunks(Count("pk", filter=Q(state=State.DEAD))),
            expected_sum=_of_chunks(Sum("expected")),
            delivered_sum=_of_chunks(Sum("delivered")),
            dormant_sum=_of_chunks(Sum("dormant")),
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By post or by author, whichever it is."""
        return search_by_post_or_account(queryset, search_term, account="post__author"), False

    @admin.display(description=gettext_lazy("post"))
    def post_link(self, job: FanoutJob) -> SafeString | str:
        """What is delivered."""
        return post_link(job.post_id)

    @admin.display(description=gettext_lazy("author"))
    def author_link(self, job: FanoutJob) -> SafeString:
        """Whose followers it is for."""
        return user_link(job.post.author)

    @admin.display(description=gettext_lazy("state"))
    def state(self, job: Any) -> str:
        """How many of the chunks are done, and whether some need help."""
        text = _("%(done)d of %(all)d done") % {"done": job.done_count, "all": job.chunk_count}
        dead = ngettext("%(count)d dead letter", "%(count)d dead letters", job.dead_count)
        return f"{text}, {dead % {'count': job.dead_count}}" if job.dead_count else text

    @admin.display(description=gettext_lazy("followers"))
    def expected(self, job: Any) -> int:
        """For how many readers it is."""
        return int(job.expected_sum)

    @admin.display(description=gettext_lazy("delivered"))
    def delivered(self, job: Any) -> int:
        """How many readers were online."""
        return int(job.delivered_sum)

    @admin.display(description=gettext_lazy("dormant"))
    def dormant(self, job: Any) -> int:
        """How many readers will rebuild when they return."""
        return int(job.dormant_sum)

    @admin.action(description=gettext_lazy("Retry dead letters"), permissions=["intervene"])
    def retry(self, request: HttpRequest, queryset: QuerySet[FanoutJob]) -> None:
        """Give dead chunks five more tries."""
        number = retry_dead([job.pk for job in self.chosen(request, queryset)])
        text = ngettext(
            "%(count)d chunk will be tried again.", "%(count)d chunks will be tried again.", number
        )
        self.message_user(request, text % {"count": number})


def _of_chunks(total: Count | Sum) -> Coalesce:
    # subqueries, not a join: they are computed for the rows of the page only
    chunks = FanoutChunk.objects.filter(job=OuterRef("pk")).order_by().values("job")
    sums = chunks.annotate(total=total).values("total")
    return Coalesce(Subquery(sums, output_field=IntegerField()), 0)
