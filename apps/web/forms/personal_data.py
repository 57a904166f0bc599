"""HTML input."""

from django import forms
from django.utils.translation import gettext_lazy as _


class DeleteAccountForm(forms.Form):
    """The password, and a word that it is meant."""

    is_meant = forms.BooleanField(
        label=_("I know that my account and my posts cannot be brought back.")
    )
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
