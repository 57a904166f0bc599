"""The list of earlier posts, for staff who handle reports. They delete posts here, or one on its own page."""

from functools import partial

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.accounts.admin import OwnedRows, staff_of
from apps.accounts.staff import is_permitted
from apps.earlier_posts.actions import delete_earlier_post
from apps.earlier_posts.models import EarlierPost
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.admin import delete_after_confirmation


@admin.register(EarlierPost)
class EarlierPostAdmin(OwnedRows):
    list_display = ("page", "owner_link", "visibility", "written_at", "created_at")
    list_filter = ("visibility",)
    actions = ("delete_posts",)

    def has_discard_permission(self, request: HttpRequest) -> bool:
        """The permission to delete posts, as on the pages of earlier posts."""
        return is_permitted(staff_of(request), DELETE_POSTS)

    @admin.display(description=gettext_lazy("post"))
    def page(self, row: EarlierPost) -> SafeString:
        address = reverse("earlier_post", args=[row.owner.handle, row.pk])
        return format_html('<a href="{}">{}</a>', address, row.pk)

    @admin.action(description=gettext_lazy("Delete posts"), permissions=["discard"])
    def delete_posts(
        self, request: HttpRequest, queryset: QuerySet[EarlierPost]
    ) -> TemplateResponse | None:
        posts = self.chosen(request, queryset)
        delete = partial(delete_earlier_post, by=staff_of(request))
        return delete_after_confirmation(self, request, posts, delete)
