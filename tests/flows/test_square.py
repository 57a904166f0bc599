"""The message square in a browser: its four functions (source 003) and both tabs."""

import pytest
from playwright.sync_api import expect

from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import deliver, make_user, publish

pytestmark = [*needs_browser, pytest.mark.flows]


def _follow(page, handle):
    page.goto(f"/@{handle}")
    page.locator(".profile").get_by_role("button", name="Follow").click()
    expect(page.locator(".profile").get_by_role("button", name="Following")).to_be_visible()
    deliver()


def _post(page, text):
    page.goto("/compose")
    page.get_by_label("What is happening?").fill(text)
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".focused .content, #feed .content").first).to_have_text(text)


def _shows(page, tab, *texts):
    page.locator(".tabs").get_by_role("link", name=tab).click()
    expect(page.locator(".tabs [aria-current=page]")).to_have_text(tab)
    expect(page.locator("#feed .content")).to_have_text(list(texts))


@pytest.mark.parametrize("scripts", [True, False])
def test_following_each_other_publishing_and_both_lists(author, reader, visit, scripts):
    publish(make_user("stranger"), "From a stranger.")
    deliver()
    for handle, other in (("author", "reader"), ("reader", "author")):
        with visit(scripts=scripts) as page:
            log_in(page, handle)
            _follow(page, other)
            _post(page, f"From {handle}.")
            deliver()
    with visit(scripts=scripts) as page:
        log_in(page, "reader")
        page.goto("/@reader")  # one's own list
        expect(page.locator("#feed .content")).to_have_text(["From reader."])
        page.goto("/@reader/followers")
        expect(page.get_by_role("main").get_by_text("@author")).to_be_visible()
        page.goto("/")
        _shows(page, "Square", "From reader.", "From author.", "From a stranger.")
        _shows(page, "Following", "From reader.", "From author.")
