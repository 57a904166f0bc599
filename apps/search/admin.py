"""Staff pages of trending posts, the progress of the search index, and starter packs."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from apps.accounts.queries import user_ids_by_handle
from apps.addresses import without_own_host
from apps.events.admin import StaffList
from apps.languages import WRITTEN
from apps.posts.admin import post_link
from apps.search.models import IndexWalk, StarterPack, TrendingPost

MAX_MEMBERS = 30


@admin.register(TrendingPost)
class TrendingPostAdmin(StaffList):
    list_display = ("post_link", "score")
    list_display_links = None
    ordering = ("-score", "-post_id")

    @admin.display(description=gettext_lazy("post"))
    def post_link(self, row: TrendingPost) -> SafeString | str:
        return post_link(row.post_id)


@admin.register(IndexWalk)
class IndexWalkAdmin(StaffList):
    list_display = ("kind", "version", "after", "finished_at")
    list_display_links = None
    ordering = ("id",)


class StarterPackForm(forms.ModelForm):
    """A form in which staff enter accounts as handles."""

    language = forms.ChoiceField(
        label=gettext_lazy("language"),
        choices=WRITTEN,
        help_text=gettext_lazy("The language of the title, and of most posts by these accounts."),
    )
    handles = forms.CharField(
        label=gettext_lazy("Handles"),
        help_text=gettext_lazy("At most 30, separated by spaces or line breaks."),
        widget=forms.Textarea(attrs={"rows": 6, "autocapitalize": "none", "spellcheck": "false"}),
    )

    class Meta:
        model = StarterPack
        fields = ("title", "language", "handles", "place", "is_active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            members = self.instance.members.order_by("handle")
            self.initial["handles"] = "\n".join(members.values_list("handle", flat=True))

    def clean_handles(self) -> list[int]:
        handles = {without_own_host(word).lower() for word in self.cleaned_data["handles"].split()}
        if len(handles) > MAX_MEMBERS:
            raise forms.ValidationError(
                gettext("At most %(count)d accounts."), params={"count": MAX_MEMBERS}
            )
        found = user_ids_by_handle(handles)
        if missing := sorted(handles - found.keys()):
            raise forms.ValidationError(
                gettext("These accounts do not exist: %(handles)s."),
                params={"handles": ", ".join(f"@{handle}" for handle in missing)},
            )
        return list(found.values())


@admin.register(StarterPack)
class StarterPackAdmin(StaffList):
    """Packs can be added, changed and switched off."""

    form = StarterPackForm
    list_display = ("title", "language", "size", "place", "is_active")
    list_filter = ("is_active",)
    ordering = ("place", "pk")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StarterPack]:
        rows: QuerySet[StarterPack] = super().get_queryset(request)
        return rows.annotate(size=Count("members"))

    @admin.display(description=gettext_lazy("accounts"))
    def size(self, pack: Any) -> int:
        return int(pack.size)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own signature
        super().save_related(request, form, formsets, change)
        form.instance.members.set(form.cleaned_data["handles"])

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "change")
