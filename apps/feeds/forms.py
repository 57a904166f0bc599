"""The form for a feed. It only splits the typed text; the actions validate it."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.feeds.actions import RULES, SWITCHES
from apps.feeds.models import NAME_MAX_CHARACTERS, Feed
from apps.feeds.queries import handles_in
from apps.languages import WRITTEN
from apps.web.forms.accounts import AS_TYPED


def _line(label: Any, help_text: Any = "") -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "dir": "auto", **AS_TYPED})
    return forms.CharField(
        label=label, max_length=4000, required=False, help_text=help_text, widget=widget
    )


def _lines(label: Any, help_text: Any = "") -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 2, "dir": "auto"})
    return forms.CharField(
        label=label, max_length=10_000, required=False, help_text=help_text, widget=widget
    )


def _switch(label: Any) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False)


class FeedForm(forms.Form):
    name = forms.CharField(
        label=pgettext_lazy("of a feed", "Name"),
        max_length=NAME_MAX_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    include_people = _line(_("Posts by these people"), _("Handles, separated by spaces."))
    include_tags = _line(_("Posts with these tags"), _("Separated by spaces."))
    include_words = _lines(_("Posts with these words"), _("One word or phrase per line."))
    exclude_people = _line(_("These people"))
    exclude_tags = _line(_("These tags"))
    exclude_words = _lines(_("These words"))
    languages = forms.MultipleChoiceField(
        label=_("Only in these languages"),
        choices=WRITTEN,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    only_media = _switch(_("Only posts with pictures, video or audio"))
    without_replies = _switch(_("Without replies"))
    without_reposts = _switch(_("Without reposts"))
    is_pinned = _switch(_("Show as a tab next to your timelines"))
    is_public = _switch(_("Public: everybody with its address may read it"))

    def __init__(self, data: Any = None, *, feed: Feed | None = None) -> None:
        super().__init__(data, initial=_initial(feed) if feed else {})
        if feed:  # a client of the API may have set languages that the form does not offer
            known = {code for code, _name in WRITTEN}
            more = [(code, code) for code in feed.languages if code not in known]
            self.fields["languages"].choices = [*WRITTEN, *more]  # type: ignore[attr-defined]  # a ChoiceField has choices

    def values(self) -> dict[str, Any]:
        """Arguments for `create_feed`, `change_feed` and `draft_feed`."""
        data = dict(self.cleaned_data)
        for name in RULES:
            if name.endswith("_words"):
                data[name] = [line for line in data[name].splitlines() if line.strip()]
            else:
                data[name] = data[name].replace(",", " ").replace("，", " ").split()
        return data


def _initial(feed: Feed) -> dict[str, Any]:
    handles = handles_in([feed])
    shown: dict[str, Any] = {name: getattr(feed, name) for name in ("name", *SWITCHES)}
    for side in ("include", "exclude"):
        people = [handles[pk] for pk in getattr(feed, f"{side}_people") if pk in handles]
        shown[f"{side}_people"] = " ".join(f"@{handle}" for handle in people)
        shown[f"{side}_tags"] = " ".join(f"#{name}" for name in getattr(feed, f"{side}_tags"))
        shown[f"{side}_words"] = "\n".join(getattr(feed, f"{side}_words"))
    return shown
