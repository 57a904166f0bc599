"""Forms for collections. The actions also check the texts and the tag, but not the language."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.curation.models import DESCRIPTION_MAX_CHARACTERS, NAME_MAX_CHARACTERS, Collection
from apps.languages import WRITTEN
from apps.tags.names import NAME_MAX_CHARACTERS as TAG_MAX_CHARACTERS
from apps.web.forms.accounts import AS_TYPED, HandlesField


def _text(**attributes: Any) -> forms.TextInput:
    return forms.TextInput(attrs={"autocomplete": "off", "dir": "auto", **attributes})


class CollectionForm(forms.Form):
    """The form for a collection. Its fields have the names of the columns."""

    name = forms.CharField(
        label=pgettext_lazy("of a collection", "Name"),
        max_length=NAME_MAX_CHARACTERS,
        widget=_text(),
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=DESCRIPTION_MAX_CHARACTERS,
        required=False,
        widget=_text(),
    )
    tag = forms.CharField(
        label=_("Tag"),
        max_length=TAG_MAX_CHARACTERS + 1,
        required=False,
        help_text=_("One tag that says what it is about."),
        widget=_text(**AS_TYPED),
    )
    language = forms.ChoiceField(
        label=_("Language"), choices=[("", _("not stated")), *WRITTEN], required=False
    )
    is_discoverable = forms.BooleanField(
        label=_("List it on my profile"), required=False, initial=True
    )
    is_sensitive = forms.BooleanField(label=_("Warn readers that it is sensitive"), required=False)

    def __init__(self, data: Any = None, *, collection: Collection | None = None) -> None:
        names = self.base_fields
        super().__init__(
            data, initial={name: getattr(collection, name) for name in names} if collection else {}
        )
        language = collection.language if collection else ""
        if language not in dict(self.fields["language"].choices):  # type: ignore[attr-defined]  # a ChoiceField has choices
            # an API client may set any language
            self.fields["language"].choices += [(language, language)]  # type: ignore[attr-defined]  # as above


class PeopleForm(forms.Form):
    handles = HandlesField(
        help_text=_(
            "Handles, separated by spaces. They are notified, and can leave the collection at any time."
        )
    )
