"""New posts are told at once to a page that listens, and within half a minute to one that cannot."""

import pytest
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import delivered

pytestmark = [*needs_browser, pytest.mark.flows]


def test_a_page_that_listens(author, reader, streamed, visit):
    follow_user(reader, author)
    delivered(author, "Old.")
    with visit(address=streamed) as page:
        log_in(page, "reader")
        expect(page.locator("#pill[data-listening]")).to_be_attached()
        delivered(author, "New.")
        page.get_by_role("link", name="1 new post").click()  # long before anybody would have asked
        expect(page.locator("#feed .content").first).to_have_text("New.")
