"""Staff pages for accounts: search, correct a profile, suspend and restore."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.views import redirect_to_login
from django.db.models import QuerySet, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from django_otp.plugins.otp_static import admin as _static_admin  # noqa: F401 -- registers a model, unregistered below
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp import admin as _totp_admin  # noqa: F401 -- registers a model, unregistered below
from django_otp.plugins.otp_totp.models import TOTPDevice

from apps.accounts.authentication.second_factor import has_second_factor
from apps.accounts.cache import card_changed
from apps.accounts.email.confirmation import clean_email
from apps.accounts.email.rescue import (
    RESCUE,
    give_address,
    mail_new_password,
    reset_second_factor,
)
from apps.accounts.models import User, UserCounts
from apps.accounts.profile import clean_name
from apps.errors import DomainError, NotAllowed
from apps.events.admin import StaffList, reason_of
from apps.http.requests import next_url
from apps.http.verification import CODE_URL, SETUP_URL, may_act_as_staff
from apps.moderation.actions import restore_user, suspend_user

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

SEARCH_MAX_CHARACTERS = 100


def log_in(request: HttpRequest, extra_context: object = None) -> HttpResponse:  # noqa: ARG001 -- Django's signature
    """Redirect to the site's login or second-factor page, which count failures, or to the admin if neither is needed.
    Raises NotAllowed for a logged-in user who is not staff.
    """
    if admin.site.has_permission(request):
        return HttpResponseRedirect(reverse("admin:index"))
    onward = next_url(request, reverse("admin:index"))
    if not request.user.is_authenticated:
        return redirect_to_login(onward, str(settings.LOGIN_URL))
    if not staff_of(request).is_staff:
        raise NotAllowed(_("Only staff may open this page."))
    # `may_act_as_staff` refused the request because staff must first enter a code or set up a second factor
    page = CODE_URL if has_second_factor(staff_of(request)) else SETUP_URL
    return redirect_to_login(onward, page)


def change_password(request: HttpRequest, extra_context: object = None) -> HttpResponse:  # noqa: ARG001 -- Django's signature
    """Redirect to the page where members change their own password; the page counts wrong guesses."""
    del request
    return HttpResponseRedirect(reverse("password_change"))


admin.site.login = log_in  # type: ignore[method-assign]  # Django's documented way
admin.site.password_change = change_password  # type: ignore[assignment, method-assign]  # as above
admin.site.has_permission = may_act_as_staff  # type: ignore[method-assign]  # as above
# Staff must not see or create the secret keys of second factors; they can only reset the whole second factor.
admin.site.unregister([TOTPDevice, StaticDevice])


def user_link(user: User) -> SafeString:
    address = reverse("admin:accounts_user_change", args=[user.pk])
    return format_html('<a href="{}">@{}</a>', address, user.handle)


def staff_of(request: HttpRequest) -> User:
    """The user who made the request, who is staff: the admin admits nobody else, except to `log_in`."""
    return cast("User", request.user)


def account_ids(term: str) -> list[int]:
    """The id of the account with this handle, in a list; [] without one. Searches by this id use an index."""
    handle = term.strip().removeprefix("@").lower()
    return list(User.objects.filter(handle=handle).values_list("pk", flat=True))


class SearchedByAccount(StaffList):
    """An admin list that is searched by the full handle of an account."""

    searched: ClassVar[str]  # the field that refers to the account; the search uses its index

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        return queryset.filter(**{f"{self.searched}__in": account_ids(search_term)}), False


class OwnedRows(SearchedByAccount):
    """An admin list of rows that have an owner, newest first."""

    list_display_links = None
    list_select_related = ("owner",)
    searched = "owner"
    search_fields = ("=owner__handle",)
    search_help_text = gettext_lazy("The full handle of the owner.")
    ordering = ("-id",)

    @admin.display(description=gettext_lazy("account"))
    def owner_link(self, row: Any) -> SafeString:
        return user_link(row.owner)


class SuspendedFilter(admin.SimpleListFilter):
    title = gettext_lazy("suspended")
    parameter_name = "suspended"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", gettext_lazy("Yes")), ("no", gettext_lazy("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in {"yes", "no"}:
            return queryset.filter(suspended_at__isnull=self.value() == "no")
        return queryset


class ProfileForm(forms.ModelForm):
    """The fields that staff may change, some only with further rights (`UserAdmin.get_readonly_fields`)."""

    class Meta:
        model = User
        fields = (
            "display_name",
            "bio",
            "email",
            "is_staff",
            "is_superuser",
            "groups",
            "user_permissions",
        )

    def clean_display_name(self) -> str:
        """Clean the name in the same way as the settings page."""
        try:
            return clean_name(self.cleaned_data["display_name"])
        except DomainError as error:
            raise forms.ValidationError(error.message) from None

    def clean_email(self) -> str | None:
        """The address in lower case; None if it is empty."""
        return clean_email(self.cleaned_data["email"])


@admin.register(User)
class UserAdmin(StaffList, DjangoUserAdmin):
    """Accounts, which are created by sign-up or `manage create_user`. Staff suspend them instead of deleting them."""

    form = ProfileForm
    list_display = (
        "handle", "name", "posts", "followers", "following", "staff", "suspended", "created_at"
    )  # fmt: skip
    list_select_related = ("counts",)
    list_filter = ("is_staff", SuspendedFilter, "created_at")
    sortable_by: ClassVar = ("handle", "posts", "followers", "following", "created_at")
    search_fields = ("handle__startswith", "email__startswith", "display_name__icontains")
    search_help_text = gettext_lazy("The beginning of a handle or e-mail address, or a name.")
    ordering = ("-id",)
    actions = ("suspend", "restore", "mail_password", "reset_factor")
    filter_horizontal = ("groups", "user_permissions")
    fieldsets = (
        (None, {"fields": ("id", "handle", "display_name", "bio", "email", "pending_email",
                           "second_factor")}),
        (gettext_lazy("Counts"), {"fields": ("posts", "followers", "following")}),
        (gettext_lazy("Moderation"), {"fields": ("limited_at", "suspended_at", "suspension_reason")}),
        (gettext_lazy("Permissions"), {"fields": ("is_staff", "is_superuser", "groups", "user_permissions"),
                                       "classes": ("collapse",)}),
        (gettext_lazy("Important dates"), {"fields": ("created_at", "last_login")}),
    )  # fmt: skip
    read_only = (
        "id", "handle", "pending_email", "second_factor", "posts", "followers", "following",
        "limited_at", "suspended_at", "suspension_reason", "created_at", "last_login",
    )  # fmt: skip
    rights = ("is_staff", "is_superuser", "groups", "user_permissions")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        users: QuerySet[User] = super().get_queryset(request).select_related("counts")
        return users

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Only superusers may change staff accounts, because a new address could be used to reset the password."""
        is_ordinary = obj is None or not (obj.is_staff or obj.is_superuser)
        return self.has_intervene_permission(request) and (
            is_ordinary or staff_of(request).is_superuser
        )

    def has_rescue_permission(self, request: HttpRequest) -> bool:
        """Permission for actions with `permissions=["rescue"]`."""
        return self.has_intervene_permission(request) and request.user.has_perm(RESCUE)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Only superusers may grant rights. Only staff with RESCUE may change e-mail addresses, except their own."""
        rights = () if staff_of(request).is_superuser else self.rights
        may_give = self.has_rescue_permission(request) and obj != request.user
        return (*self.read_only, *rights, *(() if may_give else ("email",)))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search for the term in lower case, because handles and addresses are stored in lower case."""
        term = search_term[:SEARCH_MAX_CHARACTERS].strip().removeprefix("@").lower()
        return super().get_search_results(request, queryset, term)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:  # noqa: FBT001 -- Django's own interface
        """Save everything except a new address, which stays pending until its owner confirms it."""
        address, obj.email = obj.email, form.initial.get("email", obj.email)
        super().save_model(request, obj, form, change)
        if address != obj.email:
            give_address(obj, address, by=staff_of(request))
        card_changed(obj.pk)

    def user_change_password(self, *_args: Any, **_kwargs: Any) -> HttpResponse:
        """Refuse: nobody may set another account's password here. Operators use `manage changepassword`."""
        raise NotAllowed(_("You do not have permission to do this."))

    def view_on_site(self, obj: User) -> str:
        return obj.url

    @admin.display(description=gettext_lazy("name"))
    def name(self, user: User) -> str:
        return user.display_name

    @admin.display(description=gettext_lazy("staff"))
    def staff(self, user: User) -> str:
        return _("Staff") if user.is_staff else ""

    @admin.display(description=gettext_lazy("suspended"))
    def suspended(self, user: User) -> str:
        return _("Suspended") if user.is_suspended else ""

    @admin.display(description=gettext_lazy("second factor"))
    def second_factor(self, user: User) -> str:
        return _("On") if has_second_factor(user) else _("Off")

    @admin.display(description=gettext_lazy("posts"), ordering="counts__posts")
    def posts(self, user: User) -> int:
        return user.counts.posts

    @admin.display(description=gettext_lazy("followers"), ordering="counts__followers")
    def followers(self, user: User) -> int:
        return user.counts.followers

    @admin.display(description=gettext_lazy("following"), ordering="counts__following")
    def following(self, user: User) -> int:
        return user.counts.following

    def line(self, row: User) -> str:
        """An account with its post and follower counts, shown when staff confirm an action."""
        return _("%(user)s: %(posts)d posts, %(followers)d followers") % {
            "user": row, "posts": row.counts.posts, "followers": row.counts.followers
        }  # fmt: skip

    @admin.action(description=gettext_lazy("Suspend"), permissions=["intervene"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[User]) -> TemplateResponse | None:
        staff = staff_of(request)
        return self._act_on_each(
            request,
            queryset.filter(suspended_at=None).exclude(pk=staff.pk),
            lambda user: suspend_user(user, by=staff, reason=reason_of(request)),
            question=ngettext_lazy(
                "Suspend %(count)d account? Nobody will see it or its %(posts)d posts.",
                "Suspend %(count)d accounts? Nobody will see them or their %(posts)d posts.",
                "count",
            ),
            done=ngettext_lazy(
                "%(count)d account suspended.", "%(count)d accounts suspended.", "count"
            ),
        )

    @admin.action(description=gettext_lazy("Restore"), permissions=["intervene"])
    def restore(self, request: HttpRequest, queryset: QuerySet[User]) -> TemplateResponse | None:
        staff = staff_of(request)
        return self._act_on_each(
            request,
            queryset.exclude(suspended_at=None),
            lambda user: restore_user(user, by=staff, reason=reason_of(request)),
            question=ngettext_lazy(
                "Restore %(count)d account with %(posts)d posts?",
                "Restore %(count)d accounts with %(posts)d posts?",
                "count",
            ),
            done=ngettext_lazy(
                "%(count)d account restored.", "%(count)d accounts restored.", "count"
            ),
        )

    @admin.action(description=gettext_lazy("E-mail a password reset link"), permissions=["rescue"])
    def mail_password(
        self, request: HttpRequest, queryset: QuerySet[User]
    ) -> TemplateResponse | None:
        """After confirmation, mail a link for choosing a new password to the account's address."""
        staff = staff_of(request)
        return self._act_on_each(
            request,
            queryset,
            lambda user: mail_new_password(user, by=staff),
            question=ngettext_lazy(
                "E-mail a password reset link to the owner of %(count)d account?",
                "E-mail password reset links to the owners of %(count)d accounts?",
                "count",
            ),
            done=ngettext_lazy(
                "%(count)d e-mail is on its way.", "%(count)d e-mails are on their way.", "count"
            ),
            note="Link to a new password mailed",
        )

    @admin.action(description=gettext_lazy("Reset the second factor"), permissions=["rescue"])
    def reset_factor(
        self, request: HttpRequest, queryset: QuerySet[User]
    ) -> TemplateResponse | None:
        """After confirmation, remove the second factor; from then on the password alone is enough."""
        staff = staff_of(request)
        return self._act_on_each(
            request,
            queryset,
            lambda user: reset_second_factor(user, by=staff),
            question=ngettext_lazy(
                "Reset the second factor of %(count)d account? Its password alone will then be enough to log in.",
                "Reset the second factor of %(count)d accounts? Their passwords alone will then be enough to log in.",
                "count",
            ),
            done=ngettext_lazy(
                "%(count)d second factor reset.", "%(count)d second factors reset.", "count"
            ),
            note="Second factor reset",
        )

    def _act_on_each(
        self,
        request: HttpRequest,
        queryset: QuerySet[User],
        act: Callable[[User], object],
        *,
        question: "StrPromise",
        done: "StrPromise",
        note: str = "",
    ) -> TemplateResponse | None:
        """Show `question` and ask for a reason; once confirmed, call `act` for each account and show `done`.

        Both texts may contain the placeholder `count`: the number of selected accounts, or in `done` of those for which
        `act` succeeded. The question may also contain `posts`. A `note` is added to the history of each account for
        which `act` succeeded, with the reason; omit it if `act` adds an entry itself.
        """
        users = self.chosen(request, queryset)
        if users:
            posts = UserCounts.objects.filter(pk__in=[user.pk for user in users]).aggregate(
                number=Sum("posts")
            )
            text = question % {"count": len(users), "posts": posts["number"] or 0}
            if page := self.confirmation(request, users, question=text, ask_reason=True):
                return page
        note = f"{note}: {reason_of(request)}" if note else ""
        count = self.attempt(request, users, act, note=note)
        self.message_user(request, done % {"count": count})
        return None
