"""Kept parts of a page: the same as drawn now, for each reader their own."""

import pytest
from django.template import Context, Template
from django.utils import translation

from apps.accounts.templatetags.amounts import badge
from apps.accounts.templatetags.kept import anew, kept, looks
from apps.accounts.templatetags.kept import drawn as as_html
from tests.factories import make_user

pytestmark = pytest.mark.django_db

NAV = (
    '{% load amounts kept %}{% kept "_nav.html" viewer=viewer|drawn|anew here=here'
    " unread_notifications=unread|badge|anew site_name=site_name %}"
)


def drawn(source, **values):
    return Template(source).render(Context(values))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("here", ["home", "profile", ""])
@pytest.mark.parametrize("unread", [0, 7, 120])
def test_a_kept_part_is_what_would_be_drawn(alice, bob, language, here, unread):
    with translation.override(language):
        for viewer in (alice, bob, None):
            values = {"here": here, "site_name": "Rill"}
            now = {"viewer": as_html(viewer), "unread_notifications": badge(unread), **values}
            plain = drawn('{% include "_nav.html" %}', **now)
            for _ in range(2):
                assert drawn(NAV, viewer=viewer, unread=unread, **values) == plain


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


def test_what_is_given_anew_is_each_readers_own_and_escaped():
    first = kept("_foot.html", theme="auto", csrf_token=anew("a" * 64), way_back=anew("/?q=1&b=2"))
    second = kept("_foot.html", theme="auto", csrf_token=anew("b" * 64), way_back=anew('/?q="<'))
    assert f'value="{"a" * 64}"' in first
    assert 'value="/?q=1&amp;b=2"' in first
    assert "a" * 64 not in second
    assert 'value="/?q=&quot;&lt;"' in second
    assert "\0" not in first + second


def test_a_part_knows_whether_something_is_there_at_all(alice):
    assert 'class="count"' not in drawn(NAV, viewer=alice, unread=0)
    assert 'class="count"' in drawn(NAV, viewer=alice, unread=1)
    assert 'href="/login"' in drawn(NAV, viewer=None, unread=0)
