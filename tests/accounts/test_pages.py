"""Kept pages: what they leave open is each reader's own, and what is drawn later knows the request and what it is given."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.shortcuts import render
from django.test import RequestFactory
from django.utils import translation

from apps.accounts.templatetags import pages
from apps.accounts.templatetags.pages import kept_page

pytestmark = pytest.mark.django_db

PAGE = (
    '{% extends "base.html" %}{% load pages %}{% block content %}'
    "<p>{{ tab }} {{ place }}</p>{% with word='given' %}"
    "{% anew word=word %}<p>{{ word }} {{ secret }} {{ request.path }}</p>{% endanew %}{% endwith %}"
    "<i>{{ secret }}</i>{% endblock %}"
)


@pytest.fixture
def page(settings):
    loaders = [("django.template.loaders.locmem.Loader", {"page.html": PAGE})]
    engine = settings.TEMPLATES[0]
    directories = ["django.template.loaders.filesystem.Loader"]
    options = {**engine["OPTIONS"], "loaders": loaders + directories}
    settings.TEMPLATES = [{**engine, "APP_DIRS": False, "OPTIONS": options}]
    pages._kept.cache_clear()  # of other tests' templates of this name
    yield "page.html"
    pages._kept.cache_clear()


def visit(user, address="/", language="en"):
    request = RequestFactory().get(address)
    request.user = user or AnonymousUser()
    request.LANGUAGE_CODE = language
    request.META["CSRF_COOKIE"] = "s" * 32
    return request


def texts(answer):
    """Without the tokens, which differ every time."""
    return [part for part in answer.text.split('"') if len(part) != 64]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_kept_page_is_what_would_be_drawn(page, alice, bob, carol, language):
    for user in (alice, bob, carol, None, alice):
        given = {"tab": "one", "place": '"7"', "secret": "of " + str(user), "here": "home"}
        with translation.override(language):
            plain = render(visit(user), page, given)
            found = kept_page(visit(user), page, given, under=["tab"], new=["place"])
        # what it was not given stands nowhere in what is kept
        of_request = f"<p>given of {user} /</p>"
        assert of_request in plain.text
        assert texts(found) == [
            part.replace(f"<i>of {user}</i>", "<i></i>") for part in texts(plain)
        ]
    assert pages._kept.cache_info().currsize == 3  # who has news, who has none, and visitors


def test_a_page_is_kept_under_its_readers_settings_and_what_it_is_said_to_be(page, alice):
    given = {"tab": "one", "place": "", "secret": ""}
    alice.theme, alice.text_size = "dark", "large"
    dark = kept_page(visit(alice), page, given, under=["tab"], new=["place"]).text
    assert 'data-theme="dark" data-size="large"' in dark
    alice.theme, alice.text_size, alice.display_name = "light", "", "Alice <b>"
    light = kept_page(visit(alice), page, {**given, "tab": "two"}, under=["tab"]).text
    assert 'data-theme="light">' in light
    assert "<p>two </p>" in light
    assert "Alice &lt;b&gt;" in light


def test_a_kept_page_leads_back_to_where_its_reader_is(page, alice):
    for address in ("/?q=%3Cb%3E&n=1", "/other"):
        found = kept_page(visit(alice, address), page, {}).text
        assert f'name="next" value="{address.replace("&", "&amp;")}"' in found
