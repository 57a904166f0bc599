"""HTML input of filters. What is allowed is decided by the actions; forms only read and show."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.filters.actions import FilterChange, KeywordChange
from apps.filters.models import TITLE_MAX_CHARACTERS, Act, Filter, FilterContext

DAY = 24 * 3600
KEEP = "keep"
EXPIRIES = [
    ("0", _("Never")),
    (str(DAY), _("In a day")),
    (str(7 * DAY), _("In a week")),
    (str(30 * DAY), _("In a month")),
]


class FilterForm(forms.Form):
    """A filter with its keywords, one in a line."""

    title = forms.CharField(
        label=_("Title"),
        max_length=TITLE_MAX_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    keywords = forms.CharField(
        label=_("Words and phrases, one in a line"),
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
    whole_word = forms.BooleanField(label=_("Whole words only"), required=False, initial=True)
    places = forms.MultipleChoiceField(
        label=_("Where"), choices=FilterContext.choices, widget=forms.CheckboxSelectMultiple
    )
    act = forms.ChoiceField(label=_("What happens"), choices=Act.choices, initial=Act.WARN)
    expires = forms.ChoiceField(label=_("Expires"), choices=EXPIRIES, initial="0")

    def keep_expiry(self) -> None:
        """Of a filter that is there already, the time may stay as it is."""
        field = self.fields["expires"]
        field.choices = [(KEEP, _("Leave as it is")), *EXPIRIES]  # type: ignore[attr-defined]  # of the class ChoiceField
        field.initial = KEEP

    def change(self, before: Filter | None) -> FilterChange:
        """What is to be different from a filter as it was."""
        fields = self.cleaned_data
        lines = [line.strip() for line in fields["keywords"].splitlines()]
        wanted = list(dict.fromkeys(filter(None, lines)))
        kept = {row.keyword: row for row in before.keywords.all()} if before else {}
        dropped = [
            KeywordChange(row.pk, drop=True) for text, row in kept.items() if text not in wanted
        ]
        changed = [
            KeywordChange(kept[text].pk if text in kept else None, text, fields["whole_word"])
            for text in wanted
        ]
        expires = fields["expires"]
        return FilterChange(
            title=fields["title"],
            places=fields["places"],
            act=fields["act"],
            expires_in=None if expires == KEEP else int(expires),
            keywords=[*dropped, *changed],
        )


def form_of(row: Filter) -> dict[str, object]:
    """What a form shows of a filter."""
    words = list(row.keywords.all())
    return {
        "title": row.title,
        "keywords": "\n".join(word.keyword for word in words),
        "whole_word": all(word.whole_word for word in words),
        "places": row.places,
        "act": row.act,
        "expires": KEEP,
    }
