"""Each page of the settings says in its title which one it is, and has nothing beside it that is not settings."""

import re

import pytest

pytestmark = pytest.mark.django_db
LINK = re.compile(r'<a href="(/settings/[\w/]+)"[^>]*>([^<]+)</a>')
TITLE = re.compile(r"<title>([^<]+)</title>")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_titles_name_the_page(alice, page_of, language):
    browser = page_of(alice)
    browser.cookies["lang"] = language
    menu = browser.get("/settings/profile").content.decode()
    menu = menu[menu.index('class="tabs many"') : menu.index("</nav>", menu.index('class="tabs many"'))]  # fmt: skip
    pages = LINK.findall(menu)
    assert len(pages) > 8
    titles = set()
    for address, label in pages:
        text = browser.get(address).content.decode()
        title = TITLE.findall(text)[0]
        assert title.startswith(f"{label} · "), address
        titles.add(title)
        assert "Trending" not in text, address
    assert len(titles) == len(pages)
