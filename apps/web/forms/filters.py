"""The form of a filter. Actions validate; forms only parse and render."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.filters.actions import FilterChange, KeywordChange
from apps.filters.models import TITLE_MAX_CHARACTERS, Act, Filter, FilterContext

DAY = 24 * 3600
UNCHANGED = "keep"
EXPIRIES = [
    ("0", _("Never")),
    (str(DAY), _("In a day")),
    (str(7 * DAY), _("In a week")),
    (str(30 * DAY), _("In a month")),
]


class FilterForm(forms.Form):
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

    def offer_unchanged_expiry(self) -> None:
        """An existing filter may keep its expiry."""
        field = self.fields["expires"]
        field.choices = [(UNCHANGED, _("Leave as it is")), *EXPIRIES]  # type: ignore[attr-defined]  # of the class ChoiceField
        field.initial = UNCHANGED

    def change(self, old: Filter | None) -> FilterChange:
        """The change from a filter, or from none, to the form; keywords left out are dropped."""
        data = self.cleaned_data
        lines = [line.strip() for line in data["keywords"].splitlines()]
        keywords = list(dict.fromkeys(filter(None, lines)))
        existing = {row.keyword: row for row in old.keywords.all()} if old else {}
        dropped = [
            KeywordChange(row.pk, delete=True)
            for text, row in existing.items()
            if text not in keywords
        ]
        changed = [
            KeywordChange(existing[text].pk if text in existing else None, text, data["whole_word"])
            for text in keywords
        ]
        expires = data["expires"]
        return FilterChange(
            title=data["title"],
            places=data["places"],
            act=data["act"],
            expires_in=None if expires == UNCHANGED else int(expires),
            keywords=[*dropped, *changed],
        )


def initial_of(row: Filter) -> dict[str, object]:
    keywords = list(row.keywords.all())
    return {
        "title": row.title,
        "keywords": "\n".join(keyword.keyword for keyword in keywords),
        "whole_word": all(keyword.whole_word for keyword in keywords),
        "places": row.places,
        "act": row.act,
        "expires": UNCHANGED,
    }
