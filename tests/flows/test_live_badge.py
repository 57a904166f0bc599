"""The bell: its number, the title of the page and the page of notifications move while somebody looks on."""

import pytest
from playwright.sync_api import expect

from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import delivered, publish

pytestmark = [*needs_browser, pytest.mark.flows]


def _listens(page):
    expect(page.locator("[data-ticket][data-listening]")).to_be_attached()


def test_a_mention_moves_the_bell_and_reading_clears_it_everywhere(author, reader, streamed, visit):
    with visit(address=streamed) as page:
        log_in(page, "reader")
        _listens(page)
        page.evaluate("window.here = true")
        delivered(author, "@reader look at this")
        bell = page.locator(".col-nav [data-bell]")
        expect(bell.locator(".count")).to_have_text("unread: 1")
        expect(page).to_have_title("(1) Home · Rill")
        assert page.evaluate("window.here === true")
        other = page.context.new_page()
        other.goto("/notifications")
        expect(other.locator(".news")).to_have_count(1)
        expect(bell.locator(".count")).to_have_count(0)
        expect(page).to_have_title("Home · Rill")


def test_the_open_page_of_notifications_takes_in_what_is_new(author, reader, streamed, visit):
    first = publish(reader, "Mine.")
    with visit(address=streamed) as page:
        log_in(page, "reader")
        page.goto("/notifications")
        expect(page.locator(".empty")).to_be_visible()
        _listens(page)
        delivered(author, "@reader one")
        expect(page.locator("#feed > .news .preview")).to_have_text(["@reader one"])
        expect(page.locator(".empty")).to_have_count(0)
        delivered(author, "An answer.", reply_to_id=first.pk)
        expect(page.locator("#feed > .news .preview")).to_have_text(["An answer.", "@reader one"])
        # it was seen
        expect(page.locator(".col-nav [data-bell] .count")).to_have_count(0)
        expect(page).to_have_title("Notifications · Rill")
