"""HTML input of lists. What is allowed is decided by the actions; forms only read and show."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.lists.models import TITLE_MAX_CHARACTERS, RepliesPolicy
from apps.web.forms.accounts import HandlesField


class ListForm(forms.Form):
    """A list's title, which replies it shows, and whether its people stay on the home page."""

    title = forms.CharField(
        label=_("Title"),
        max_length=TITLE_MAX_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    replies_policy = forms.ChoiceField(
        label=_("Replies"), choices=RepliesPolicy.choices, initial=RepliesPolicy.LIST
    )
    is_exclusive = forms.BooleanField(label=_("Keep its people off the home page"), required=False)


class FollowedForm(forms.Form):
    """People to put into a list."""

    handles = HandlesField(help_text=_("Of people you follow, with spaces between them."))
