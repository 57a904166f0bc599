"""Account forms, and the functions and fields that all forms share."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import PasswordChangeForm, PasswordResetForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from apps.accounts.authentication.passwords import check_own_password
from apps.accounts.email import sending
from apps.accounts.email.confirmation import clean_email
from apps.accounts.models import (
    BIO_MAX_CHARACTERS,
    NAME_MAX_CHARACTERS,
    PICTURE_ALT_MAX_CHARACTERS,
    Density,
    Keys,
    MailKind,
    PostVisibility,
    QuotePolicy,
    TextSize,
    Theme,
    User,
)
from apps.addresses import without_own_host
from apps.errors import DomainError
from apps.languages import WRITTEN
from apps.media.avatars import Cropped, parse_box
from apps.media.sandbox import PICTURE_TYPES
from apps.oauth.provider import DESCRIPTIONS
from apps.privacy.moving.imports import offered_kinds
from apps.scopes import OFFERED, grantable
from apps.tags.names import normalize
from apps.throttling import Origin, check_rate_limit

LANGUAGES = [("", _("Same as my browser")), ("en", "English"), ("zh-hans", "简体中文")]
HANDLES_MAX_CHARACTERS = 2000
SWITCH = {"role": "switch"}
AS_TYPED: dict[str, Any] = {"autocapitalize": "none", "spellcheck": "false"}


def add_errors(
    form: forms.BaseForm, error: DomainError, names: Mapping[str, str] | None = None
) -> None:
    """Add an action's errors to the form's fields; `names` maps the action's field names to the form's."""
    names = names or {}
    for name, message in error.errors.items() or {"": error.message}.items():
        field = names.get(name, name)
        form.add_error(field if field in form.fields else None, message)


def render_form(
    request: HttpRequest, template: str, context: dict[str, Any], *shown_forms: forms.BaseForm
) -> HttpResponse:
    """Render a page with forms. The status is 422 if one of the forms has errors, and 200 otherwise."""
    has_errors = any(form.errors for form in shown_forms)
    return render(request, template, context, status=422 if has_errors else 200)


def render_settings(
    request: HttpRequest,
    template: str,
    tab: str,
    context: dict[str, Any],
    *shown_forms: forms.BaseForm,
) -> HttpResponse:
    """Render a settings page. `tab` is the key of its entry in `settings_tags`, or "" for the list of all settings."""
    context = {"here": "settings", "tab": tab, **context}
    return render_form(request, template, context, *shown_forms)


def _text(
    label: Any, *, maximum: int, required: bool = True, help_text: Any = "", **attributes: str
) -> forms.CharField:
    widget = forms.TextInput(attrs=attributes)
    return forms.CharField(
        label=label, max_length=maximum, required=required, help_text=help_text, widget=widget
    )


def _password(label: Any, *, autocomplete: str, help_text: Any = "") -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(
        label=label, strip=False, max_length=4096, help_text=help_text, widget=widget
    )


def switch(label: Any, *, initial: bool = False) -> forms.BooleanField:
    """A checkbox drawn as a switch."""
    return forms.BooleanField(
        label=label, required=False, initial=initial, widget=forms.CheckboxInput(SWITCH)
    )


def _display_name() -> forms.CharField:
    return _text(_("Name"), maximum=NAME_MAX_CHARACTERS, required=False, autocomplete="name")


def _email(help_text: Any = "") -> forms.EmailField:
    widget = forms.EmailInput(attrs={"autocomplete": "email"})
    return forms.EmailField(label=_("E-mail"), required=False, help_text=help_text, widget=widget)


def _picture(label: Any, help_text: Any) -> forms.FileField:
    widget = forms.FileInput(attrs={"accept": ",".join(PICTURE_TYPES)})
    return forms.FileField(
        label=label, required=False, allow_empty_file=True, help_text=help_text, widget=widget
    )


class HandlesField(forms.CharField):
    """Handles separated by spaces or commas, with or without @. Cleans to a list without duplicates."""

    def __init__(self, *, help_text: Any, suggests: str = "people") -> None:
        """`suggests`: which people are suggested while typing (`apps/web/timelines/suggest.py`)."""
        super().__init__(
            label=_("Handles"),
            max_length=HANDLES_MAX_CHARACTERS,
            help_text=help_text,
            widget=forms.TextInput(
                attrs={"autocomplete": "off", "data-suggest": suggests, **AS_TYPED}
            ),
        )

    def clean(self, value: Any) -> list[str]:
        words = super().clean(value).replace(",", " ").replace("，", " ").split()
        return list(dict.fromkeys(without_own_host(word).lower() for word in words))


class SignUpForm(forms.Form):
    handle = _text(
        _("Handle"),
        maximum=30,
        help_text=_("3 to 30 characters: a-z, digits and _. It cannot be changed later."),
        autocomplete="username",
        **AS_TYPED,
    )
    display_name = _display_name()
    email = _email(_("Used to reset your password if you forget it. It is not public."))
    password = _password(
        _("Password"), autocomplete="new-password", help_text=_("At least 12 characters.")
    )


class LoginForm(forms.Form):
    username = _text(_("Handle or e-mail"), maximum=254, autocomplete="username", **AS_TYPED)
    password = _password(_("Password"), autocomplete="current-password")


def _code(label: Any, *, help_text: Any = "", inputmode: str = "text") -> forms.CharField:
    attributes = {"autocomplete": "one-time-code", "inputmode": inputmode, "dir": "ltr"}
    widget = forms.TextInput(attrs={**attributes, **AS_TYPED})
    return forms.CharField(label=label, max_length=40, help_text=help_text, widget=widget)


class CodeForm(forms.Form):
    code = _code(_("Code"))


class AppCodeForm(forms.Form):
    code = _code(
        _("Code"), help_text=_("The six digits that the app shows now."), inputmode="numeric"
    )


class PasswordForm(forms.Form):
    password = _password(_("Password"), autocomplete="current-password")


class PasskeyForm(forms.Form):
    name = _text(
        _("Name"), maximum=64, help_text=_("A name to recognize it by, such as: my phone.")
    )
    answer = forms.CharField(required=False, max_length=20_000, widget=forms.HiddenInput)


def _picture_alt(label: Any) -> forms.CharField:
    return _text(
        label,
        maximum=PICTURE_ALT_MAX_CHARACTERS,
        required=False,
        help_text=_("For people who cannot see it."),
        dir="auto",
    )


class IntroductionForm(forms.Form):
    """The parts of a profile that others see first."""

    PICTURES: tuple[str, ...] = ("avatar",)

    display_name = _display_name()
    bio = forms.CharField(
        label=_("Bio"),
        required=False,
        help_text=_("At most 500 characters."),
        widget=forms.Textarea(
            attrs={
                "rows": 4,
                "maxlength": BIO_MAX_CHARACTERS,
                "dir": "auto",
                "data-suggest": True,
            }
        ),
    )
    avatar = _picture(
        _("Picture"), _("JPEG, PNG, WebP, GIF, AVIF or HEIC, up to 4 MB, cropped to a square.")
    )
    avatar_box = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Combine each picture with its crop box."""
        data = {**self.cleaned_data}
        for name in self.PICTURES:
            if data.get(name):
                data[name] = Cropped(data[name], parse_box(data.get(f"{name}_box", "")))
        return data


def _tag_names(text: str) -> list[str]:
    """The tags in a text, as typed. Raises ValidationError for an invalid tag."""
    names = text.replace(",", " ").replace("，", " ").split()
    if wrong := [name for name in names if normalize(name) is None]:
        message = _("%(name)s cannot be a tag: use only letters, digits and _.")
        raise forms.ValidationError(message, params={"name": wrong[0]})
    return names


class TopicsForm(forms.Form):
    """Tags to follow, and languages. `offered` contains the names of the tags to choose from."""

    tags = forms.MultipleChoiceField(
        label=_("What do you like to read about?"),
        required=False,
        help_text=_(
            "Public posts with these tags appear on your home page. Three are a good start."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    others = _text(
        _("Other tags"),
        maximum=500,
        required=False,
        help_text=_("Separated by spaces, with or without #."),
        autocomplete="off",
        dir="auto",
    )
    languages = forms.MultipleChoiceField(
        label=_("Which languages do you read?"),
        choices=WRITTEN,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, offered: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        choices = [(name, f"#{name}") for name in offered]
        self.fields["tags"].choices = choices  # type: ignore[attr-defined]  # a ChoiceField has choices

    def clean_others(self) -> list[str]:
        return _tag_names(self.cleaned_data["others"])

    def names(self) -> list[str]:
        """The chosen and the typed tags. A tag can occur twice in different spellings, such as `cats` and `#Cats`."""
        return list(dict.fromkeys([*self.cleaned_data["tags"], *self.cleaned_data["others"]]))


class ProfileForm(IntroductionForm):
    PICTURES = ("avatar", "header")

    header = _picture(
        _("Wide picture"), _("Shown at the top of your profile, three times as wide as it is high.")
    )
    header_box = forms.CharField(required=False, widget=forms.HiddenInput)
    remove_header = forms.BooleanField(label=_("Remove the wide picture"), required=False)
    avatar_alt = _picture_alt(_("What your picture shows"))
    header_alt = _picture_alt(_("What your wide picture shows"))
    lines = forms.CharField(
        label=_("Lines"),
        required=False,
        help_text=_("Up to four, each with a name and a value, such as Web: https://example.org"),
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
    featured_tags = _text(
        _("Tags"),
        maximum=1100,
        required=False,
        help_text=_("Tags you write about: up to ten, separated by spaces, with or without #."),
        autocomplete="off",
        dir="auto",
    )
    is_bot = switch(_("This account is a program"))
    remove_avatar = forms.BooleanField(label=_("Remove the picture"), required=False)

    def clean_featured_tags(self) -> list[str]:
        return _tag_names(self.cleaned_data["featured_tags"])

    def clean_lines(self) -> list[tuple[str, str]]:
        """Pairs of a name and a value, split at the first colon of each line."""
        lines = str(self.cleaned_data["lines"]).splitlines()
        pairs = (line.partition(":") for line in lines)
        return [(name.strip(), value.strip()) for name, _colon, value in pairs]


class AppearanceForm(forms.Form):
    theme = forms.ChoiceField(label=_("Theme"), choices=Theme.choices, widget=forms.RadioSelect)
    text_size = forms.ChoiceField(
        label=_("Text size"), choices=TextSize.choices, widget=forms.RadioSelect
    )
    language = forms.ChoiceField(
        label=_("Language"), choices=LANGUAGES, required=False, widget=forms.RadioSelect
    )


class WritingForm(forms.Form):
    post_visibility = forms.ChoiceField(
        label=_("Visibility of new posts"), choices=PostVisibility.choices, widget=forms.RadioSelect
    )
    quote_policy = forms.ChoiceField(
        label=_("New posts may be quoted by"), choices=QuotePolicy.choices, widget=forms.RadioSelect
    )
    post_sensitive = switch(_("Hide my pictures until somebody wants to see them"))
    asks_for_alt = switch(_("Ask me when a picture has no description"))
    sends_on_enter = switch(_("Enter sends a message; Shift+Enter starts a new line"))
    keys = forms.ChoiceField(
        label=_("Keyboard shortcuts"), choices=Keys.choices, widget=forms.RadioSelect
    )


class ReadingForm(forms.Form):
    density = forms.ChoiceField(
        label=_("Spacing of posts"), choices=Density.choices, widget=forms.RadioSelect
    )
    loads_by_button = switch(_("Load more posts with a button instead of automatically"))
    hides_read = switch(_("On my home page, hide posts that I have read"))
    hides_replies = switch(_("On my home page, hide replies to people I do not follow"))
    groups_reposts = switch(_("On my home page, show reposts of the same post as one"))
    plays_loops = switch(_("Play short videos without sound automatically"))
    second_column = forms.ChoiceField(
        label=_("Next to my home page, on wide screens"), required=False, widget=forms.RadioSelect
    )


class EmailForm(forms.Form):
    email = _email()
    password = _password(_("Your password"), autocomplete="current-password")


class NewPasswordForm(PasswordChangeForm):
    """Django's form, with a limit on guesses of the old password."""

    def __init__(self, *args: Any, origin: Origin, **options: Any) -> None:
        super().__init__(*args, **options)
        self._origin = origin

    def clean_old_password(self) -> str:
        """Check the old password. Raises TooMany, before the check, once the limit on guesses is reached."""
        password = str(self.cleaned_data["old_password"])
        if not check_own_password(self.user, password, self._origin):
            raise forms.ValidationError(self.error_messages["password_incorrect"])
        return password


class ResetForm(PasswordResetForm):
    """Requests a link for choosing a new password. A worker looks up the address, so the response reveals nothing."""

    def save(self, **_options: Any) -> None:  # type: ignore[override]  # ignores Django's arguments
        """Enqueue the mail. The limit is per address, whether or not an account has the address. Raises TooMany."""
        address = clean_email(self.cleaned_data["email"]) or ""
        check_rate_limit("password_reset_account", address)
        sending.enqueue_mail(MailKind.PASSWORD_RESET, address=address)


class TokenForm(forms.Form):
    name = _text(_("What is it for?"), maximum=60, autocomplete="off")
    scopes = forms.MultipleChoiceField(
        label=_("What it may do"), initial=["read"], widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, user: User, *args: Any) -> None:
        super().__init__(*args)
        names = grantable([name for name in DESCRIPTIONS if name in OFFERED], user)
        scopes: Any = self.fields["scopes"]
        scopes.choices = [(name, DESCRIPTIONS[name]) for name in names]


class QuickAppearanceForm(forms.Form):
    """The form of the footer's buttons, each of which sends a language or a theme."""

    language = forms.ChoiceField(choices=settings.LANGUAGES, required=False)
    theme = forms.ChoiceField(choices=Theme.choices, required=False)


class DeleteAccountForm(forms.Form):
    is_meant = forms.BooleanField(
        label=_("I know that my account and my posts cannot be restored.")
    )
    password = _password(_("Your password"), autocomplete="current-password")


class ImportForm(forms.Form):
    kind = forms.ChoiceField(label=_("Contents of the file"), choices=offered_kinds)
    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        help_text=_(
            "In Mastodon: Preferences, Import and export, Data export. Import the accounts you follow before"
            " your lists. Posts are in the archive (.zip); everything else is a CSV file."
        ),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv,.zip,application/zip"}),
    )
