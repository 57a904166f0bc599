"""The settings form for promoted posts."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.web.forms.accounts import switch


class PromotionsForm(forms.Form):
    """Choices about promoted posts; `traits` are pairs of slug and label."""

    shows_promoted = switch(_("Show me promoted posts"))
    traits = forms.MultipleChoiceField(
        label=_("About me"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, traits: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["traits"]
        field.choices = traits
