"""The list of the settings, its search, and what all of its pages have: title, way back, switches."""

import re

import pytest

from apps.web.hooks import SettingsTab
from tests.support.cases import each

pytestmark = pytest.mark.django_db
ENTRY = re.compile(r'<li><a href="(/settings/[\w/]+)"( aria-current="page")?>.*?<b>([^<]+)</b>')
TITLE = re.compile(r"<title>([^<]+)</title>")
SWITCH = r'<label class="switch"><span>([^<]+)</span><input type="checkbox"[^>]*role="switch"'
HEADING = re.compile(r"<h1>([^<]+)</h1>")


def entries(page: str) -> list[tuple[str, str, str]]:
    """Address, whether it is the current one, and name."""
    return ENTRY.findall(page)


def found(browser, words: str) -> list[str]:
    return [address for address, _current, _name in entries(browser.get("/settings", {"q": words}).text)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_each_page_says_which_one_it_is(alice, page_of, language):
    browser = page_of(alice)
    browser.cookies["lang"] = language
    listed = entries(browser.get("/settings").text)
    assert len(listed) > 12
    titles = set()
    for address, _current, name in listed:
        text = browser.get(address).text
        title = TITLE.findall(text)[0]
        assert title.startswith(f"{name} · "), address
        assert HEADING.findall(text) == [name], address
        assert [here for here, current, _name in entries(text) if current] == [address]
        assert 'href="/settings"' in text[text.index('class="topbar-m"') :], address
        assert "Trending" not in text, address
        titles.add(title)
    assert len(titles) == len(listed)


def test_the_list_says_what_is_behind_each_entry_of_the_core(alice, page_of):
    page = page_of(alice).get("/settings").text
    assert len(re.findall(r"<b>[^<]+</b> <small>[^<]+</small>", page)) == len(entries(page))


def test_navigation_leads_to_the_list(alice, page_of):
    page = page_of(alice).get("/public").text
    assert page.count('href="/settings"') == 2


@each("words, address", [("password", "/settings/account"), ("PASSKEYS", "/settings/security"),
                         ("Reading filters", "/settings/filters"), ("archive", "/settings/export")])  # fmt: skip
def test_search_finds_by_name_line_and_group(alice, page_of, words, address):
    assert found(page_of(alice), words) == [address]


@each("words", ["qqqzzz", "%", "<script>", "x" * 5000])
def test_search_for_nothing(alice, page_of, words):
    browser = page_of(alice)
    assert found(browser, words) == []
    assert "No setting matches these words." in browser.get("/settings", {"q": words}).text


def test_search_in_chinese(alice, page_of):
    browser = page_of(alice)
    browser.cookies["lang"] = "zh-hans"
    assert found(browser, "密码") == ["/settings/account"]


def test_only_members_have_settings(page_of):
    assert page_of(None).get("/settings").status_code == 302


def test_an_optional_app_adds_an_entry_with_nothing_but_its_name_and_place(alice, page_of, monkeypatch):  # fmt: skip
    monkeypatch.setattr(
        "apps.web.templatetags.settings_tags.SETTINGS",
        [SettingsTab("import", "Added", after="filters")],
    )
    names = [name for _address, _current, name in entries(page_of(alice).get("/settings").text)]
    assert names[names.index("Filters") + 1] == "Added"


@pytest.mark.slow
@each("address", ["/settings/profile", "/settings/reading", "/settings/writing", "/settings/privacy",
                  "/settings/notifications", "/settings/promotions", "/settings/filters"])  # fmt: skip
def test_choices_between_yes_and_no_are_switches_with_names(alice, page_of, address):
    page = page_of(alice).get(address).text
    switches = re.findall(SWITCH, page)
    assert switches
    assert page.count('role="switch"') == len(switches)


def test_a_switch_that_is_off_is_saved_without_scripts(alice, page_of):
    browser = page_of(alice)
    browser.post("/settings/reading", {"density": "comfortable", "hides_read": "on"})
    alice.refresh_from_db()
    assert (alice.hides_read, alice.groups_reposts) == (True, False)
