"""The form of a report to the staff."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.moderation.house_rules import RULES
from apps.moderation.models import COMMENT_MAX_CHARACTERS, Category


class ReportForm(forms.Form):
    category = forms.ChoiceField(
        label=_("What is wrong?"),
        help_text=_("This decides who looks at the report first."),
        choices=Category.choices,
        initial=Category.SPAM,
        widget=forms.RadioSelect,
    )
    rule_ids = forms.TypedMultipleChoiceField(
        label=_("Which rules does it break?"),
        help_text=_("Optional. The rules you choose are shown to the staff with the post."),
        choices=[(number, _(text)) for number, text in RULES.items()],
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    comment = forms.CharField(
        label=_("What should we know?"),
        help_text=_("Context that an outsider would miss, such as earlier posts and links."),
        required=False,
        max_length=COMMENT_MAX_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
