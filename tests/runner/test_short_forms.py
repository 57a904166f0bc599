"""Every verb that runs a tool has a shortest form, which the checks run."""

from runner.arguments import PASSED_ON
from runner.short_forms import SHORT, SHORT_FORMS
from tools.bench.__main__ import SUITES

NO_TOOLS = {"test", "manage", "lint", "docs"}  # what has no shorter form


def test_no_verb_and_no_suite_is_forgotten():
    assert {verb for verb, *_others in SHORT_FORMS} == set(PASSED_ON) - NO_TOOLS
    assert {form[1] for form in SHORT_FORMS if form[0] == "bench"} == set(SUITES)
    assert all(form[-1] == SHORT for form in SHORT_FORMS)
    assert len(set(SHORT_FORMS)) == len(SHORT_FORMS)
