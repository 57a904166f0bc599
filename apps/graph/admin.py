"""Staff pages for the graph. Staff end follows, blocks and mutes by the same actions that their owners use."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.admin import OwnedRows, SearchedByAccount, user_link
from apps.events.admin import StaffList
from apps.graph.actions import unblock_user, unfollow_user, unmute_user
from apps.graph.models import (
    Block,
    Circle,
    CircleMember,
    Followee,
    Follower,
    GraphImport,
    Mute,
    UserList,
)


class RelationAdmin(SearchedByAccount):
    """Relations, newest first. They are searched by the owner's handle, which is indexed."""

    other: ClassVar[str]
    list_display = ("id", "owner_link", "other_link", "created_at")
    list_display_links = None
    searched = "owner"
    search_fields = ("=owner__handle",)
    search_help_text = gettext_lazy("The full handle of the first account.")
    ordering = ("-id",)
    actions = ("remove",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).select_related("owner", self.other)
        return rows

    @admin.display(description=gettext_lazy("account"))
    def owner_link(self, row: Any) -> SafeString:
        """The account that the relation belongs to."""
        return user_link(row.owner)

    @admin.display(description=gettext_lazy("other account"))
    def other_link(self, row: Any) -> SafeString:
        """The other account of the relation."""
        return user_link(getattr(row, self.other))

    @abstractmethod
    def undo(self, row: Any) -> None:
        """End the relation of one row."""

    def line(self, row: Any) -> str:
        return f"{row.owner}, {getattr(row, self.other)}"

    @admin.action(description=gettext_lazy("Remove"), permissions=["discard"])
    def remove(self, request: HttpRequest, queryset: QuerySet[Any]) -> TemplateResponse | None:
        """End the chosen relations by the same actions that their owners use, after a confirmation."""
        rows = self.chosen(request, queryset)
        question = ngettext(
            "Remove %(count)d relation?", "Remove %(count)d relations?", len(rows)
        ) % {"count": len(rows)}
        if rows and (page := self.confirmation(request, rows, question=question)):
            return page
        undo: Callable[[Any], None] = self.undo
        done = self.attempt(request, rows, undo, note=_("Removed."))
        text = ngettext("%(count)d relation removed.", "%(count)d relations removed.", done)
        self.message_user(request, text % {"count": done})
        return None


@admin.register(Followee)
class FolloweeAdmin(RelationAdmin):
    """The accounts that an account follows."""

    other = "followee"

    def undo(self, row: Followee) -> None:
        unfollow_user(row.owner, row.followee)


@admin.register(Follower)
class FollowerAdmin(RelationAdmin):
    """The followers of an account, the mirror of `Followee`."""

    other = "follower"

    def undo(self, row: Follower) -> None:
        unfollow_user(row.follower, row.owner)


@admin.register(Block)
class BlockAdmin(RelationAdmin):
    """The accounts that an account has blocked."""

    other = "blocked"

    def undo(self, row: Block) -> None:
        unblock_user(row.owner, row.blocked)


@admin.register(Mute)
class MuteAdmin(RelationAdmin):
    """The accounts that an account has muted."""

    other = "muted"

    def undo(self, row: Mute) -> None:
        unmute_user(row.owner, row.muted)


@admin.register(UserList)
class UserListAdmin(OwnedRows):
    """Lists. An exclusive list may be the reason why a post is not on a home page. Only the owner sees its members."""

    list_display = ("id", "owner_link", "name", "replies_policy", "is_exclusive", "created_at")


@admin.register(Circle)
class CircleAdmin(OwnedRows):
    """Circles, read-only. Posts to circles are in the list of posts."""

    list_display = ("id", "name", "owner_link", "is_shared", "size", "created_at", "deleted_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Circle]:
        members = CircleMember.objects.filter(group=OuterRef("pk")).order_by().values("group")
        rows: QuerySet[Circle] = super().get_queryset(request)
        counted = Subquery(members.annotate(n=Count("pk")).values("n"))
        return rows.annotate(member_count=Coalesce(counted, 0))

    @admin.display(description=gettext_lazy("owner"))
    def owner_link(self, row: Circle) -> SafeString:
        return super().owner_link(row)

    @admin.display(description=gettext_lazy("members"))
    def size(self, row: Any) -> int:
        """The number of members, excluding the owner."""
        return int(row.member_count)


@admin.register(GraphImport)
class GraphImportAdmin(StaffList):
    """Edge lists (`manage load_graph`), and the number of lines of each that have been loaded."""

    list_display = ("digest", "lines_done", "finished_at")
    ordering = ("-id",)
