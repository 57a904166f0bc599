import pytest
from django import forms
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from apps.accounts.widgets import KeptSelect

CHOICES = [("", _("Detect")), ("en", "English"), ("<x>", 'Quote " and <b>')]


@pytest.mark.parametrize("value", ["", "en", "<x>", None])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_it_looks_like_djangos_own(value, language):
    class Plain(forms.Form):
        field = forms.ChoiceField(choices=CHOICES, required=False)

    class Kept(forms.Form):
        field = forms.ChoiceField(choices=CHOICES, required=False, widget=KeptSelect)

    with translation.override(language):
        for form in (Plain, Kept):
            form.base_fields["field"].widget.attrs["class"] = "menu"
        drawn = [str(form(initial={"field": value})["field"]) for form in (Plain, Kept, Kept)]
        assert drawn[0] == drawn[1] == drawn[2]
        bound = [str(form({"field": value or ""})["field"]) for form in (Plain, Kept)]
        assert bound[0] == bound[1]
