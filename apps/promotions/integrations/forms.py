"""The form of promoted posts."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


class PromotionsForm(forms.Form):
    """`traits` are the choices: (slug, label)."""

    shows_promoted = forms.BooleanField(label=_("Show me promoted posts"), required=False)
    traits = forms.MultipleChoiceField(
        label=_("About me"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, traits: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["traits"]
        field.choices = traits
