"""The form of a filter. The actions check the rules, and the limits that the fields do not declare."""

from collections.abc import Mapping

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.filters.actions import FilterChange, KeywordChange
from apps.filters.models import TITLE_MAX_CHARACTERS, Filter, FilterAction, FilterContext
from apps.web.forms.accounts import switch

DAY = 24 * 3600
KEEP_EXPIRY = "keep"
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
        label=_("Words and phrases, one per line"),
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
    whole_word = switch(_("Whole words only"), initial=True)
    places = forms.MultipleChoiceField(
        label=_("Where"),
        choices=FilterContext.choices,
        initial=[place for place in FilterContext if place != FilterContext.ACCOUNT],
        widget=forms.CheckboxSelectMultiple,
    )
    act = forms.ChoiceField(
        label=_("What happens"), choices=FilterAction.choices, initial=FilterAction.WARN
    )
    expires = forms.ChoiceField(label=_("Expires"), choices=EXPIRIES, initial="0")

    @classmethod
    def of(cls, existing: Filter, data: Mapping[str, str] | None) -> "FilterForm":
        """The form for changing a filter; it can leave the expiry unchanged. `data` is None until it is submitted."""
        keywords = list(existing.keywords.all())
        whole = {keyword.whole_word for keyword in keywords}
        form = cls(
            data,
            initial={
                "title": existing.title,
                "keywords": "\n".join(keyword.keyword for keyword in keywords),
                "whole_word": False not in whole,
                "places": existing.places,
                "act": existing.act,
                "expires": KEEP_EXPIRY,
            },
        )
        form.fields["expires"].choices = [(KEEP_EXPIRY, _("Leave as it is")), *EXPIRIES]  # type: ignore[attr-defined]  # a ChoiceField has choices
        if len(whole) > 1:
            form.fields["whole_word"].help_text = _(
                "Some of these words match as whole words only. Tick this to make all of them do so."
            )
        return form

    def to_change(self, existing: Filter | None) -> FilterChange:
        """The change that makes `existing`, or a new filter, match the form. Keywords not in the form are deleted."""
        data = self.cleaned_data
        expires = data["expires"]
        return FilterChange(
            title=data["title"],
            places=data["places"],
            act=data["act"],
            expires_in=None if expires == KEEP_EXPIRY else int(expires),
            keywords=self._keyword_changes(existing),
        )

    def _keyword_changes(self, existing: Filter | None) -> list[KeywordChange]:
        """The changes to the filter's keywords.

        The checkbox for whole words applies to existing keywords only if it was changed, because the API can set a
        different value for each.
        """
        whole_word = self.cleaned_data["whole_word"]
        lines = [line.strip() for line in self.cleaned_data["keywords"].splitlines()]
        wanted = list(dict.fromkeys(filter(None, lines)))
        rows = list(existing.keywords.all()) if existing else []
        known = {row.keyword for row in rows}
        deleted = [KeywordChange(row.pk, delete=True) for row in rows if row.keyword not in wanted]
        changed = [
            KeywordChange(row.pk, whole_word=whole_word)
            for row in rows
            if row.keyword in wanted and "whole_word" in self.changed_data
        ]
        added = [KeywordChange(None, text, whole_word) for text in wanted if text not in known]
        return [*deleted, *changed, *added]
