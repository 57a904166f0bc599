"""No field or button of a form has the name of something that scripts ask of the form itself.

`<button name="remove">` makes of `form.remove` that button, and neither htmx nor our own scripts can take the form away
any more.
"""

import re
from pathlib import Path

import pytest
from django.forms import BaseForm
from django.urls import get_resolver

from tests.flows.browsing import needs_browser

pytestmark = [*needs_browser, pytest.mark.flows]

ROOT = Path(__file__).parents[2]
PROPERTIES = """() => {
  const names = new Set();
  const form = document.createElement("form");
  for (const name in form) names.add(name);
  for (let one = form; one; one = Object.getPrototypeOf(one))
    Object.getOwnPropertyNames(one).forEach((name) => names.add(name));
  return [...names];
}"""
CONTROL = re.compile(r"<(?:input|button|select|textarea|fieldset|output|object)\b[^>]*>")
NAMED = re.compile(r"""\s(?:name|id)=["']([\w-]+)["']""")
# Plain forms, sent by the browser, that no script of ours touches and htmx does not drive.
HARMLESS = {
    "title": "of a filter: its own pages, and the title of a form is read by nothing",
    "name": "of a list, of a circle, and of a class of caches in the admin: likewise",
    "target": "a cache server in the admin, whose form is sent by the browser",
    "slot": "of a Redis Cluster, in the admin: likewise",
    "action": "the admin's own way of naming what is done with ticked rows",
}


def _subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _of_python():
    assert get_resolver().url_patterns  # brings in all views, and with them all forms
    for form in _subclasses(BaseForm):
        if form.__module__.startswith(("apps.", "feedsite.")):
            yield from (getattr(form, "base_fields", {}) | getattr(form, "declared_fields", {}))


def _of_templates():
    for path in ROOT.glob("templates/**/*.html"):
        for control in CONTROL.findall(path.read_text()):
            yield from NAMED.findall(control)


def _of_scripts():
    for path in ROOT.glob("static/js/*.js"):
        yield from re.findall(r"""\bname\s*=\s*["']([\w-]+)["']""", path.read_text())


def test_no_field_hides_what_a_form_can_do(visit):
    with visit() as page:
        page.goto("/login")
        properties = set(page.evaluate(PROPERTIES))
    assert {"remove", "submit", "reset", "method", "children"} <= properties
    names = {*_of_python(), *_of_templates(), *_of_scripts()}
    assert {"body", "take_out", "idempotency_key"} <= names
    assert names & properties == HARMLESS.keys()


def test_forms_with_such_fields_are_not_driven_by_htmx():
    for name in HARMLESS:
        for path in ROOT.glob("templates/**/*.html"):
            text = path.read_text()
            if (
                re.search(rf"""\sname=["']{name}["']|form\.{name}\s*}}}}""", text)
                and "<form" in text
            ):
                forms = re.findall(r"<form\b[^>]*>", text)
                assert not [form for form in forms if "hx-" in form and "composer" not in form], (
                    name,
                    path,
                )
