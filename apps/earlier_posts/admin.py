"""The list of earlier posts, for staff who handle reports. They delete a post on its own page."""

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from apps.accounts.admin import OwnedRows
from apps.earlier_posts.models import EarlierPost


@admin.register(EarlierPost)
class EarlierPostAdmin(OwnedRows):
    list_display = ("page", "owner_link", "visibility", "written_at", "created_at")
    list_filter = ("visibility",)

    @admin.display(description=gettext_lazy("post"))
    def page(self, row: EarlierPost) -> SafeString:
        address = reverse("earlier_post", args=[row.owner.handle, row.pk])
        return format_html('<a href="{}">{}</a>', address, row.pk)
