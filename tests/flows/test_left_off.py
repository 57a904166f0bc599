"""Where somebody left off on one device is where they go on on another one."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from apps.notifications.actions import mark_read
from apps.notifications.models import ReadMarker
from apps.notifications.queries import home_read_id
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import deliver, publish
from tests.support.waiting import wait_until

pytestmark = [*needs_browser, pytest.mark.flows]
POSTS = 30
TOOLS = "Tools and other timelines"
HOME = ReadMarker.Timeline.HOME


@pytest.fixture
def posts(author, reader):
    """The newest first."""
    follow_user(reader, author)
    made = [publish(author, f"Number {number}.").pk for number in range(POSTS)][::-1]
    deliver()
    return made


@contextmanager
def another_device(page, address):
    context = page.context.browser.new_context(
        base_url=address, viewport={"width": 390, "height": 800}
    )
    yield context.new_page()
    context.close()


def line_above(page):
    """The post that has the line."""
    return page.locator("#feed > .post:has(> #left-off)")


def test_reading_here_moves_the_line_there(posts, reader, streamed, visit):
    mark_read(reader, posts[25], timeline=HOME)
    with visit(address=streamed) as here, another_device(here, streamed) as there:
        log_in(there, "reader")
        expect(there.locator("[data-ticket][data-listening]")).to_be_attached()
        expect(there.locator("#left-off")).to_have_count(0)  # further down
        third = there.locator(f"#p{posts[2]}")
        before = third.bounding_box()
        log_in(here, "reader")
        here.get_by_role("link", name="Go to where you left off").click()
        expect(line_above(here)).to_have_id(f"p{posts[25]}")  # which the page has fetched
        expect(here.locator("#left-off")).to_be_in_viewport()
        for _step in range(60):
            here.mouse.wheel(0, -250)
            here.wait_for_timeout(50)
        # the page ends there: nothing above it has been read
        wait_until(
            lambda: home_read_id(reader) == posts[5],
            lambda: f"{posts[5]} is read, and not {home_read_id(reader)}",
        )
        expect(line_above(here)).to_have_id(f"p{posts[25]}")  # it stays while this page is read
        expect(line_above(there)).to_have_id(f"p{posts[5]}")
        assert third.bounding_box() == before, "nothing moves"


def test_nothing_is_noted_of_what_was_skipped(posts, reader, streamed, visit):
    mark_read(reader, posts[25], timeline=HOME)
    with visit(address=streamed) as page:
        log_in(page, "reader")
        page.mouse.wheel(0, 600)
        page.wait_for_timeout(2500)
        assert home_read_id(reader) == posts[25], "posts between are unread"
        for _step in range(60):
            page.mouse.wheel(0, 250)
            page.wait_for_timeout(50)
        expect(line_above(page)).to_have_id(f"p{posts[25]}")
        wait_until(
            lambda: home_read_id(reader) == posts[0],
            lambda: f"{posts[0]} is read, and not {home_read_id(reader)}",
        )
        page.reload()
        expect(page.locator("#left-off")).to_have_count(0)


def test_the_first_mark_is_left_by_scrolling_and_what_was_missed_comes_with_the_ticket(
    posts, author, reader, streamed, visit
):
    with visit(address=streamed) as page:
        log_in(page, "reader")
        page.wait_for_timeout(2500)
        assert home_read_id(reader) is None, "opening a page is not reading it"
        page.mouse.wheel(0, 600)
        wait_until(
            lambda: home_read_id(reader) == posts[0],
            lambda: f"{posts[0]} is read, and not {home_read_id(reader)}",
        )
        new = publish(author, "New.").pk
        deliver()
        page.goto("/")
        expect(line_above(page)).to_have_id(f"p{posts[0]}")
        mark_read(
            reader, new, timeline=HOME
        )  # elsewhere, before this page listens or while it does
        expect(page.locator("#left-off")).to_have_count(0)


def test_without_scripts_a_button_marks(posts, reader, visit, site):
    with visit(scripts=False) as page:
        log_in(page, "reader")
        page.get_by_role("button", name=TOOLS).click()
        page.get_by_role("button", name="Mark as read up to here").click()
        wait_until(
            lambda: home_read_id(reader) == posts[0],
            lambda: f"{posts[0]} is read, and not {home_read_id(reader)}",
        )
        page.get_by_role("button", name=TOOLS).click()
        expect(page.get_by_role("link", name="Catch up")).to_be_visible()
        expect(page.get_by_role("button", name="Mark as read up to here")).to_have_count(0)
