"""Staff pages for posts, scheduled posts, and uploads waiting to be transcoded.

Staff can read and delete posts, but not edit them.
"""

from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import (
    SEARCH_MAX_CHARACTERS,
    SearchedByAccount,
    account_ids,
    staff_of,
    user_link,
)
from apps.accounts.staff import log_action
from apps.events.admin import StaffList
from apps.events.leases import State
from apps.posts.actions import schedule, transcoding
from apps.posts.admin import delete_after_confirmation, post_link
from apps.posts.models import OPEN, Post, ScheduledPost, Transcode
from apps.timeline import publishing
from feedcache.ids import first_id_at, parse_id

EXCERPT_CHARACTERS = 80
READ_RESTRICTED = "posts.read_restricted_post"
TEXTS = ("content_warning", "body", "pictures")
SEARCHED_POSTS = 100_000  # a search reads the bodies of this many newest posts
DAYS = (1, 7, 30)


class AgeFilter(admin.SimpleListFilter):
    """Shows only posts of the last few days. Ids contain the time, so the filter is a range of the primary key."""

    title = gettext_lazy("created at")
    parameter_name = "days"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        text = "%(count)d day", "%(count)d days"
        return [(str(days), ngettext(*text, days) % {"count": days}) for days in DAYS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        days = self.value() or ""
        if days not in map(str, DAYS):
            return queryset
        since = timezone.now() - timedelta(days=int(days))
        return queryset.filter(pk__gte=first_id_at(int(since.timestamp())))


class DeletedFilter(admin.SimpleListFilter):
    title = gettext_lazy("deleted")
    parameter_name = "deleted"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", gettext_lazy("Yes")), ("no", gettext_lazy("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in {"yes", "no"}:
            return queryset.filter(deleted_at__isnull=self.value() == "no")
        return queryset


@admin.register(Post)
class PostAdmin(StaffList):
    """The text of a restricted post is shown only on its change page, to permitted staff; each view is recorded."""

    list_display = (
        "id",
        "excerpt",
        "author_link",
        "kind",
        "visibility",
        "created_at",
        "deleted_at",
    )
    list_select_related = ("author",)
    list_filter = ("kind", "visibility", DeletedFilter, AgeFilter)
    search_fields = ("body",)
    search_help_text = gettext_lazy(
        "The number of a post, @handle, or words in an open post among the newest 100,000."
    )
    ordering = ("-id",)
    actions = ("delete_posts",)
    fields = readonly_fields = (
        "id",
        "author_link",
        "kind",
        "visibility",
        *TEXTS,
        "language",
        "source_link",
        "reply_link",
        "replies",
        "reposts",
        "likes",
        "version",
        "created_at",
        "edited_at",
        "deleted_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Post]:
        posts: QuerySet[Post] = super().get_queryset(request).prefetch_related("author", "counts")
        return posts

    def get_fields(self, request: HttpRequest, obj: Post | None = None) -> Any:
        is_hidden = obj is not None and obj.is_restricted and not self._reads_restricted(request)
        return [name for name in self.fields if not is_hidden or name not in TEXTS]

    def _reads_restricted(self, request: HttpRequest) -> bool:
        return request.user.has_perm(READ_RESTRICTED)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **options: Any
    ) -> HttpResponse:
        """Record which staff member reads a restricted post."""
        post: Post = options["obj"]
        if post.is_restricted and self._reads_restricted(request):
            log_action(staff_of(request), post, _("Read."))
        return super().render_change_form(request, context, *args, **options)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term[:SEARCH_MAX_CHARACTERS].strip()
        if not term:
            return queryset, False
        if term.startswith("@"):
            return queryset.filter(author__in=account_ids(term)), False
        try:
            return queryset.filter(pk=parse_id(term)), False
        except ValueError:
            text = Q(pk__gte=_search_floor(), visibility__in=OPEN, body__icontains=term)
            return queryset.filter(text | Q(author__in=account_ids(term))), False

    def view_on_site(self, obj: Post) -> str:
        return f"{obj.author.url}/{obj.pk}"

    @admin.display(description=gettext_lazy("text"))
    def excerpt(self, post: Post) -> str:
        if post.is_restricted:
            return _("(limited audience)")
        return Truncator(post.body).chars(EXCERPT_CHARACTERS)

    @admin.display(description=gettext_lazy("author"))
    def author_link(self, post: Post) -> SafeString:
        return user_link(post.author)

    @admin.display(description=gettext_lazy("source"))
    def source_link(self, post: Post) -> SafeString | str:
        return post_link(post.source_id)

    @admin.display(description=gettext_lazy("reply to"))
    def reply_link(self, post: Post) -> SafeString | str:
        return post_link(post.reply_to_id)

    @admin.display(description=gettext_lazy("pictures"))
    def pictures(self, post: Post) -> SafeString | str:
        attachments = post.attachments.order_by("position")
        links = ((one.file.url, one.alt or one.file.name) for one in attachments)
        listed = format_html_join(", ", '<a href="{}">{}</a>', links)
        if listed and post.is_hidden:
            unseen = _("While it is hidden, nobody can open its pictures, video or audio.")
            return format_html("{}<br>{}", listed, unseen)
        return listed or "-"

    @admin.display(description=gettext_lazy("replies"))
    def replies(self, post: Post) -> int:
        return post.counts.replies

    @admin.display(description=gettext_lazy("reposts"))
    def reposts(self, post: Post) -> int:
        return post.counts.reposts

    @admin.display(description=gettext_lazy("likes"))
    def likes(self, post: Post) -> int:
        return post.counts.likes

    def line(self, row: Post) -> str:
        return f"{row.author}, {row.pk}: {self.excerpt(row)}"

    @admin.action(description=gettext_lazy("Delete posts"), permissions=["discard"])
    def delete_posts(
        self, request: HttpRequest, queryset: QuerySet[Post]
    ) -> TemplateResponse | None:
        """Delete posts with the same effect as a deletion by their authors, after a confirmation."""
        posts = self.chosen(request, queryset.filter(deleted_at=None))
        delete = partial(publishing.delete, by=staff_of(request))
        return delete_after_confirmation(self, request, posts, delete)


def _search_floor() -> int:
    newest = Post.objects.order_by("-pk").values_list("pk", flat=True)
    return next(iter(newest[SEARCHED_POSTS : SEARCHED_POSTS + 1]), 0)


@admin.register(ScheduledPost)
class ScheduledPostAdmin(SearchedByAccount):
    """Scheduled posts that have not been published yet, or could not be published."""

    list_display = ("id", "author_link", "scheduled_at", "state", "attempts", "last_error")
    list_filter = ("state",)
    searched = "author"
    search_fields = ("author__handle",)
    search_help_text = gettext_lazy("The full handle of the author.")
    ordering = ("-id",)
    actions = ("retry", "discard")
    fields = readonly_fields = (
        "author_link",
        "scheduled_at",
        "state",
        "attempts",
        "due_at",
        "last_error",
        "post",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ScheduledPost]:
        """All rows except those of published posts, which are in the list of posts."""
        rows: QuerySet[ScheduledPost] = super().get_queryset(request)
        return rows.exclude(state=State.DONE).select_related("author")

    @admin.display(description=gettext_lazy("author"))
    def author_link(self, row: ScheduledPost) -> SafeString:
        return user_link(row.author)

    @admin.action(description=gettext_lazy("Retry dead letters"), permissions=["intervene"])
    def retry(self, request: HttpRequest, queryset: QuerySet[ScheduledPost]) -> None:
        """Give five more attempts to posts that could not be published."""
        rows = self.chosen(request, queryset.filter(state=State.DEAD))
        number = schedule.retry_dead([row.pk for row in rows])
        self.log_each(request, rows, _("Retried."))
        text = ngettext(
            "%(count)d post will be retried.", "%(count)d posts will be retried.", number
        )
        self.message_user(request, text % {"count": number})

    @admin.action(description=gettext_lazy("Discard dead letters"), permissions=["discard"])
    def discard(
        self, request: HttpRequest, queryset: QuerySet[ScheduledPost]
    ) -> TemplateResponse | None:
        """Discard posts that could not be published, after a confirmation."""
        dead = self.chosen(request, queryset.filter(state=State.DEAD))
        question = _("Discard the posts that could not be published? Their text will be lost.")
        if dead and (page := self.confirmation(request, dead, question=question)):
            return page
        number = schedule.discard_dead([row.pk for row in dead])
        self.log_each(request, dead, _("Discarded."))
        text = ngettext("%(count)d post discarded.", "%(count)d posts discarded.", number)
        self.message_user(request, text % {"count": number})
        return None


@admin.register(Transcode)
class TranscodeAdmin(SearchedByAccount):
    """Video and sound uploads that wait for a worker, or that failed at every attempt."""

    list_display = ("id", "owner_link", "medium", "state", "attempts", "due_at", "last_error")
    list_select_related = ("attachment__owner",)
    list_filter = ("state",)
    searched = "attachment__owner"
    search_fields = ("attachment__owner__handle",)
    search_help_text = gettext_lazy("The full handle of the owner.")
    ordering = ("-id",)
    actions = ("retry",)
    fields = readonly_fields = (
        "owner_link",
        "medium",
        "state",
        "attempts",
        "due_at",
        "last_error",
        "created_at",
    )

    @admin.display(description=gettext_lazy("account"))
    def owner_link(self, row: Transcode) -> SafeString | str:
        owner = row.attachment.owner
        return user_link(owner) if owner else "-"

    @admin.display(description=gettext_lazy("medium"))
    def medium(self, row: Transcode) -> str:
        return row.attachment.get_medium_display()

    @admin.action(description=gettext_lazy("Retry dead letters"), permissions=["intervene"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Transcode]) -> None:
        """Give five more attempts to uploads that failed at every attempt."""
        rows = self.chosen(request, queryset.filter(state=State.DEAD))
        number = transcoding.retry_dead([row.pk for row in rows])
        self.log_each(request, rows, _("Retried."))
        text = ngettext(
            "%(count)d upload will be retried.",
            "%(count)d uploads will be retried.",
            number,
        )
        self.message_user(request, text % {"count": number})
