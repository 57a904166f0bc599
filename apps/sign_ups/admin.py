"""The staff pages for sign-up blocks."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from apps.events.admin import StaffList
from apps.sign_ups.models import SignUpBlock


@admin.register(SignUpBlock)
class SignUpBlockAdmin(StaffList):
    """Blocks can be added, changed and deleted; they apply to new accounts only."""

    list_display = ("value", "kind", "refused", "expires_at", "by", "reason")
    list_filter = ("kind",)
    list_select_related = ("by",)
    search_fields = ("value__startswith",)
    search_help_text = gettext_lazy("The beginning of a range, a domain or a handle.")
    ordering = ("-id",)
    fields = ("kind", "value", "reason", "expires_at")

    def save_model(self, request: HttpRequest, obj: SignUpBlock, form: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own signature
        if not change:
            obj.by = request.user  # type: ignore[assignment]  # staff are logged in
        super().save_model(request, obj, form, change)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "delete")
