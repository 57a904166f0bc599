"""HTML input of accounts. What is allowed is decided by the actions; forms only read and show."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import PasswordChangeForm, PasswordResetForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from apps.accounts.authentication.passwords import check_own_password
from apps.accounts.mail import sending
from apps.accounts.mail.confirmation import clean_email
from apps.accounts.models import (
    BIO_MAX_CHARACTERS,
    NAME_MAX_CHARACTERS,
    Density,
    Keys,
    MailKind,
    PostVisibility,
    TextSize,
    Theme,
)
from apps.errors import DomainError
from apps.media.avatars import Cropped, parse_box
from apps.scopes import ALL
from apps.throttling import Origin, check_rate_limit

LANGUAGES = [("", _("As my browser says")), ("en", "English"), ("zh-hans", "简体中文")]
HANDLES_MAX_CHARACTERS = 2000


def show_error(
    form: forms.BaseForm, refusal: DomainError, names: Mapping[str, str] | None = None
) -> None:
    """Put what an action refused beside the fields it is about; `names` maps the action's names to the form's."""
    names = names or {}
    for name, message in refusal.errors.items() or {"": refusal.message}.items():
        known = names.get(name, name)
        form.add_error(known if known in form.fields else None, message)


def form_page(
    request: HttpRequest, template: str, context: dict[str, Any], *shown: forms.BaseForm
) -> HttpResponse:
    """A page with forms: 422 when one of them says what is wrong with its input, else 200."""
    wrong = any(form.errors for form in shown)
    return render(request, template, context, status=422 if wrong else 200)


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


class HandlesField(forms.CharField):
    """Handles of accounts, as people write them: with spaces or commas between, and @ or not. Cleaned: a list, each once."""

    def __init__(self, *, help_text: Any) -> None:
        attributes = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        super().__init__(
            label=_("Handles"),
            max_length=HANDLES_MAX_CHARACTERS,
            help_text=help_text,
            widget=forms.TextInput(attrs=attributes),
        )

    def clean(self, value: Any) -> list[str]:
        """The handles as they are stored."""
        words = super().clean(value).replace(",", " ").replace("，", " ").split()
        return list(dict.fromkeys(word.removeprefix("@").lower() for word in words))


class JoinForm(forms.Form):
    """A new account."""

    handle = _text(
        _("Handle"),
        maximum=30,
        help_text=_("3 to 30 of the letters a-z, digits and _. It cannot be changed later."),
        autocomplete="username",
        autocapitalize="none",
        spellcheck="false",
    )
    display_name = _text(
        _("Name"), maximum=NAME_MAX_CHARACTERS, required=False, autocomplete="name"
    )
    email = forms.EmailField(
        label=_("E-mail"),
        required=False,
        help_text=_("For a new password when you forget yours. Nobody sees it."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password = _password(
        _("Password"), autocomplete="new-password", help_text=_("At least 12 characters.")
    )


class LoginForm(forms.Form):
    """Who is there."""

    username = _text(
        _("Handle or e-mail"),
        maximum=254,
        autocomplete="username",
        autocapitalize="none",
        spellcheck="false",
    )
    password = _password(_("Password"), autocomplete="current-password")


def _code(label: Any, *, help_text: Any = "", inputmode: str = "text") -> forms.CharField:
    widget = forms.TextInput(
        attrs={
            "autocomplete": "one-time-code",
            "autocapitalize": "none",
            "spellcheck": "false",
            "inputmode": inputmode,
            "dir": "ltr",
        }
    )
    return forms.CharField(label=label, max_length=40, help_text=help_text, widget=widget)


class CodeForm(forms.Form):
    """The second factor, typed."""

    code = _code(_("Code"))


class AppCodeForm(forms.Form):
    """What a new app shows."""

    code = _code(_("Code"), help_text=_("The six digits that the app shows now."), inputmode="numeric")  # fmt: skip


class PasswordForm(forms.Form):
    """Whether it is still the owner."""

    password = _password(_("Password"), autocomplete="current-password")


class PasskeyForm(forms.Form):
    """A new passkey: what its owner calls it, and what the browser made."""

    name = _text(_("Name"), maximum=64, help_text=_("To tell it from others, such as: my phone."))
    answer = forms.CharField(required=False, max_length=20_000, widget=forms.HiddenInput)


class ProfileForm(forms.Form):
    """What others see."""

    display_name = _text(
        _("Name"), maximum=NAME_MAX_CHARACTERS, required=False, autocomplete="name"
    )
    bio = forms.CharField(
        label=_("Bio"),
        required=False,
        help_text=_("At most 500 characters."),
        widget=forms.Textarea(attrs={"rows": 4, "maxlength": BIO_MAX_CHARACTERS, "dir": "auto"}),
    )
    avatar = forms.FileField(
        label=_("Picture"),
        required=False,
        allow_empty_file=True,
        help_text=_("JPEG, PNG, WebP or GIF, 4 MB at most. It is cut to a square."),
        widget=forms.FileInput(attrs={"accept": "image/jpeg,image/png,image/webp,image/gif"}),
    )
    header = forms.FileField(
        label=_("Wide picture"),
        required=False,
        allow_empty_file=True,
        help_text=_("At the top of your profile, three times as wide as high."),
        widget=forms.FileInput(attrs={"accept": "image/jpeg,image/png,image/webp,image/gif"}),
    )
    avatar_box = forms.CharField(required=False, widget=forms.HiddenInput)
    header_box = forms.CharField(required=False, widget=forms.HiddenInput)
    remove_header = forms.BooleanField(label=_("Remove the wide picture"), required=False)
    lines = forms.CharField(
        label=_("Lines"),
        required=False,
        help_text=_("Up to four, each a name and a value: Web: https://example.org"),
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
    is_bot = forms.BooleanField(label=_("This account is a program"), required=False)
    remove_avatar = forms.BooleanField(label=_("Remove the picture"), required=False)

    def clean(self) -> dict[str, Any]:
        """The pictures together with the parts of them that are wanted."""
        said = {**self.cleaned_data}
        for name in ("avatar", "header"):
            if said.get(name):
                said[name] = Cropped(said[name], parse_box(said.get(f"{name}_box", "")))
        return said

    def clean_lines(self) -> list[tuple[str, str]]:
        """Pairs of what is before and after the first colon of each line."""
        rows = str(self.cleaned_data["lines"]).splitlines()
        pairs = (row.partition(":") for row in rows)
        return [(name.strip(), value.strip()) for name, _colon, value in pairs]


class AppearanceForm(forms.Form):
    """How the site looks."""

    theme = forms.ChoiceField(label=_("Theme"), choices=Theme.choices, widget=forms.RadioSelect)
    text_size = forms.ChoiceField(
        label=_("Text size"), choices=TextSize.choices, widget=forms.RadioSelect
    )
    language = forms.ChoiceField(
        label=_("Language"), choices=LANGUAGES, required=False, widget=forms.RadioSelect
    )


class WritingForm(forms.Form):
    """How somebody writes, and which keys they want."""

    post_visibility = forms.ChoiceField(
        label=_("New posts are for"), choices=PostVisibility.choices, widget=forms.RadioSelect
    )
    post_sensitive = forms.BooleanField(
        label=_("Hide my pictures until somebody wants to see them"), required=False
    )
    asks_for_alt = forms.BooleanField(
        label=_("Ask me when a picture has no description"), required=False
    )
    keys = forms.ChoiceField(
        label=_("Keyboard shortcuts"), choices=Keys.choices, widget=forms.RadioSelect
    )


class ReadingForm(forms.Form):
    """How somebody reads."""

    density = forms.ChoiceField(
        label=_("Room of a post"), choices=Density.choices, widget=forms.RadioSelect
    )
    loads_by_button = forms.BooleanField(
        label=_("Load more posts by a button, not by themselves"), required=False
    )


class EmailForm(forms.Form):
    """A new address."""

    email = forms.EmailField(
        label=_("E-mail"),
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password = _password(_("Your password"), autocomplete="current-password")


class NewPasswordForm(PasswordChangeForm):
    """Django's own, with limits of guessing the old password."""

    def __init__(self, *args: Any, origin: Origin, **options: Any) -> None:
        super().__init__(*args, **options)
        self._origin = origin

    def clean_old_password(self) -> str:
        """The right one; TooMany before it is looked at."""
        password = str(self.cleaned_data["old_password"])
        if not check_own_password(self.user, password, self._origin):
            raise forms.ValidationError(self.error_messages["password_incorrect"])
        return password


class ResetForm(PasswordResetForm):
    """The address of an account. Whether there is one, the worker looks who sends the link."""

    def save(self, **_options: Any) -> None:  # type: ignore[override]  # it takes the same, and needs none of it
        """Have the mail sent. TooMany for an address, whether it is anybody's or not."""
        address = clean_email(self.cleaned_data["email"]) or ""
        check_rate_limit("password_reset_account", address)
        sending.enqueue_mail(MailKind.PASSWORD_RESET, address=address)


class TokenForm(forms.Form):
    """A new access token: its name, and what it may do."""

    name = _text(_("What is it for?"), maximum=60, autocomplete="off")
    scopes = forms.MultipleChoiceField(
        label=_("What it may do"),
        choices=[
            ("read", _("Read everything in your account")),
            ("write", _("Post, like, follow and change your account")),
            ("follow", _("Follow, mute and block people")),
            ("push", _("Send notifications to your device")),
            ("profile", _("See who you are")),
        ],
        initial=ALL.split(),
        widget=forms.CheckboxSelectMultiple,
    )


class QuickAppearanceForm(forms.Form):
    """One press in the footer: either a language or a theme."""

    language = forms.ChoiceField(choices=settings.LANGUAGES, required=False)
    theme = forms.ChoiceField(choices=Theme.choices, required=False)
