"""Forms for staff, who enter accounts by handle and tags by name."""

from typing import Any

from django import forms
from django.forms import BaseInlineFormSet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.promotions.models import Campaign, PromotedAccount, RuleKind, Segment, SegmentRule
from apps.tags.actions import get_or_create_tag_ids
from apps.tags.models import Tag
from apps.tags.names import normalize


def user_of_handle(text: str) -> User:
    """The account with a handle. Raises ValidationError if there is none, or if it is suspended."""
    user = User.objects.filter(
        handle=text.strip().removeprefix("@").lower(), suspended_at=None
    ).first()
    if user is None:
        raise forms.ValidationError(_("Nobody has this handle."))
    return user


class RuleForm(forms.ModelForm):
    handle = forms.CharField(label=gettext_lazy("Account"), required=False, max_length=40)
    tag_name = forms.CharField(label=gettext_lazy("Tag"), required=False, max_length=101)

    class Meta:
        model = SegmentRule
        fields = ("kind", "trait", "language", "handle", "tag_name", "days", "since")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.account is not None:
            self.initial["handle"] = str(self.instance.account)
        if self.instance.tag is not None:
            self.initial["tag_name"] = str(self.instance.tag)

    def clean_handle(self) -> str:
        handle = str(self.cleaned_data["handle"]).strip()
        self.instance.account = user_of_handle(handle) if handle else None
        return handle

    def clean_tag_name(self) -> str:
        text = str(self.cleaned_data["tag_name"]).strip()
        self.instance.tag = self._tag(text) if text else None
        return text

    def _tag(self, text: str) -> Tag:
        """The tag with this name, created if nobody has used it yet."""
        name = normalize(text)
        if name is None:
            raise forms.ValidationError(_("There is no such tag."))
        return Tag.objects.get(pk=get_or_create_tag_ids([name])[name])

    def add_error(self, field: str | None, error: Any) -> None:
        """Show errors in the account and tag columns at the form fields that set these columns."""
        if hasattr(error, "error_dict"):
            names = {"account": "handle", "tag": "tag_name"}
            error = forms.ValidationError(
                {names.get(name, name): errors for name, errors in error.error_dict.items()}
            )
        super().add_error(field, error)


class RuleFormSet(BaseInlineFormSet):
    """Requires at least one rule in an active segment, and refuses combinations that would reveal too much.

    The followers of an account are public, and may be few. So a segment must not combine them with traits or tags,
    which would reveal something about the followers.
    """

    def clean(self) -> None:
        super().clean()
        kept = [
            form
            for form in self.forms
            if form.cleaned_data.get("kind") and not form.cleaned_data.get("DELETE")
        ]
        if self.instance.is_active and not kept and not any(self.errors):
            raise forms.ValidationError(_("Add a rule."))
        kinds = {form.cleaned_data["kind"] for form in kept}
        if RuleKind.FOLLOWS_ACCOUNT in kinds and kinds & {RuleKind.TRAIT, RuleKind.FOLLOWS_TAG}:
            message = _("Followers of an account cannot be narrowed down by traits or tags.")
            raise forms.ValidationError(message)


class PromotedAccountForm(forms.ModelForm):
    """The account is chosen when the row is added, and cannot be changed later."""

    handle = forms.CharField(label=gettext_lazy("Handle"), max_length=40)

    class Meta:
        model = PromotedAccount
        fields = ("handle", "sponsor")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            del self.fields["handle"]

    def clean_handle(self) -> str:
        user = user_of_handle(str(self.cleaned_data["handle"]))
        if PromotedAccount.objects.filter(user=user).exists():
            raise forms.ValidationError(_("This account is promoted already."))
        self.instance.user = user
        return user.handle


class CampaignForm(forms.ModelForm):
    class Meta:
        model = Campaign
        fields = (
            "name",
            "account",
            "segments",
            "starts_at",
            "ends_at",
            "budget_impressions",
            "frequency_cap",
        )
        widgets = {"segments": forms.CheckboxSelectMultiple}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "segments" in self.fields:  # absent when the field is read-only
            segments: Any = self.fields["segments"]
            segments.queryset = Segment.objects.filter(is_active=True).order_by("name")
