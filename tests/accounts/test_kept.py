"""Kept parts of a page: the same as drawn now, for each reader their own."""

import pytest
from django.template import Context, Template
from django.utils import translation

from apps.accounts.templatetags.kept import looks
from tests.factories import make_user

pytestmark = pytest.mark.django_db

NAV = (
    '{% load kept %}{% kept "_nav.html" viewer=viewer|looks profile=profile|looks here=here'
    " unread_notifications=unread|add:0 site_name=site_name %}"
)


def drawn(source, **values):
    return Template(source).render(Context(values))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("here", ["home", "profile", ""])
@pytest.mark.parametrize("unread", [0, 7, 120])
def test_a_kept_part_is_what_would_be_drawn(alice, bob, language, here, unread):
    with translation.override(language):
        for viewer in (alice, bob, None):
            values = {"viewer": viewer, "profile": alice, "here": here, "site_name": "Rill"}
            plain = drawn('{% include "_nav.html" %}', unread_notifications=unread, **values)
            for _ in range(2):
                assert drawn(NAV, unread=unread, **values).strip() == plain.strip()


def test_a_change_of_looks_is_seen(alice):
    before = drawn(NAV, viewer=alice, here="", unread=0)
    alice.display_name = "Alice <b>"
    after = drawn(NAV, viewer=alice, here="", unread=0)
    assert "Alice &lt;b&gt;" in after
    assert after != before


def test_a_part_sees_nothing_but_what_it_is_given(alice):
    assert looks(None) is None
    assert looks("") is None
    assert not hasattr(looks(alice), "email")
    with_more = drawn(NAV, viewer=make_user("erin"), here="", unread=0, request="secret")
    assert "secret" not in with_more
    assert "erin" in with_more
