"""The keys: one table drives the script, the dialog and the page, and everybody may switch them off."""

import re
from html import unescape
from pathlib import Path

import pytest

from apps.web.templatetags.keyboard import PROFILE, SHORTCUTS, key_actions
from tests.support.cases import each

SCRIPT = (Path(__file__).parents[2] / "static/js/app.js").read_text()
pytestmark = pytest.mark.django_db


def keys_on(page):
    table = unescape(re.findall(r'data-keys="([^"]*)"', page.text)[0])
    return dict(one.rsplit(" ", 1) for one in table.split(",") if one)


def test_the_script_can_do_what_the_table_says_and_nothing_else():
    table = SCRIPT.split("const ACTS = {")[1].split("\n};")[0]
    known = set(re.findall(r"^  (\w+): ", table, re.MULTILINE))
    named = {
        one.action for one in SHORTCUTS if one.action != PROFILE and not one.action.startswith("/")
    }
    assert known == named - {""}


def test_no_key_has_two_meanings():
    keys = [key for one in SHORTCUTS for key in one.keys]
    assert len(keys) == len(set(keys))
    beginnings = {key.split()[0] for key in keys if " " in key}
    assert beginnings.isdisjoint(keys)


@pytest.mark.slow
def test_where_keys_go_there_are_pages(alice, page_of):
    browser = page_of(alice)
    for address in filter(
        lambda act: act.startswith("/"), key_actions(alice.keys, alice.url).values()
    ):
        assert browser.get(address).status_code == 200, address


def test_pages_of_one_form_have_no_keys(client, alice):
    assert 'data-keys=""' in client.get("/login").text


def test_the_page_and_the_dialog_show_the_whole_table(client, alice):
    for headers in ({}, {"HX-Request": "true"}):
        page = client.get("/about/shortcuts", headers=headers).text
        assert page.count("<dt>") == len(SHORTCUTS)
        assert "<kbd>Shift</kbd> <kbd>b</kbd>" in page
    assert client.get("/about/shortcuts").text.count("<html") == 1
    client.cookies["lang"] = "zh-hans"
    assert "提及作者" in client.get("/about/shortcuts").text


def test_switched_off_and_swapped(alice, page_of):
    browser = page_of(alice)
    assert keys_on(browser.get("/about"))["g p"] == "/@alice"
    said = {"post_visibility": "unlisted", "quote_policy": "public", "keys": "mastodon"}
    assert browser.post("/settings/writing", said).status_code == 303
    acts = keys_on(browser.get("/about"))
    assert (acts["b"], acts["B"]) == ("repost", "bookmark")
    browser.post("/settings/writing", {**said, "keys": "off", "asks_for_alt": "on"})
    assert keys_on(browser.get("/about")) == {}
    alice.refresh_from_db()
    assert (alice.post_visibility, alice.asks_for_alt, alice.keys) == ("unlisted", True, "off")


@each("wrong", [{"keys": "x"}, {"post_visibility": "mentioned"}, {}])
def test_what_is_no_choice(alice, page_of, wrong):
    said = (
        {"post_visibility": "public", "quote_policy": "public", "keys": "on", **wrong}
        if wrong
        else {"post_sensitive": "1"}
    )
    assert page_of(alice).post("/settings/writing", said).status_code == 422
