"""Messages between two browsers: written, told, seen; with and without scripts."""

import re

import pytest
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from apps.notifications.conversations.actions import begin, mark_read
from apps.notifications.conversations.queries import conversations_page
from apps.notifications.models import Conversation
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.models import Post
from tests.flows.browsing import log_in, needs_browser

pytestmark = [*needs_browser, pytest.mark.flows]
BOX = "#box textarea[name=body]"


@pytest.fixture
def said(author, reader):
    """`said(text)`: the author writes to the reader, who follows them."""
    follow_user(reader, author)
    return lambda text: begin(author, [reader], Draft(text), idempotency_key="")


def _talk(user):
    return Conversation.objects.get(user=user).pk


def _listens(page):
    expect(page.locator("[data-ticket][data-listening]")).to_be_attached()


def test_what_is_said_and_seen_is_there_at_once(author, reader, streamed, said, visit):
    said("First.")
    with visit(address=streamed) as page:
        log_in(page, "reader")
        expect(page.locator(".col-nav [data-mail] .count")).to_have_text("unread: 1")
        page.goto(f"/conversations/{_talk(reader)}")
        expect(page.locator(".col-nav [data-mail] .count")).to_have_count(0)
        _listens(page)
        page.fill(BOX, "not sent yet")
        said("Second.")
        expect(page.locator(".bubble .content")).to_have_text(["First.", "Second."])
        expect(page.locator(BOX)).to_have_value("not sent yet")
        expect(page.locator(".col-nav [data-mail] .count")).to_have_count(0)
        page.press(BOX, "Enter")
        expect(page.locator(".bubble.own .content")).to_have_text("not sent yet")
        expect(page.locator(".told")).to_have_text("Sent")
        expect(page.locator(BOX)).to_be_focused()
        mark_read(author, _talk(author))
        expect(page.locator(".told")).to_have_text("Seen")


def test_the_badge_moves_on_other_pages(reader, streamed, said, visit):
    with visit(address=streamed) as page:
        log_in(page, "reader")
        _listens(page)
        said("Hello.")
        expect(page.locator(".col-nav [data-mail] .count")).to_have_text("unread: 1")


def test_enter_sends_unless_its_author_wants_lines(reader, said, visit):
    said("First.")
    with visit() as page:
        log_in(page, "reader")
        page.goto(f"/conversations/{_talk(reader)}")
        page.fill(BOX, "one")
        page.press(BOX, "Shift+Enter")
        page.type(BOX, "two")
        page.press(BOX, "Enter")
        expect(page.locator(".bubble.own .content")).to_have_text("one\ntwo", use_inner_text=True)
        reader.sends_on_enter = False
        reader.save()
        page.goto("/settings/writing")  # the account that asks is read again
        page.get_by_role("button", name="Save changes").click()
        page.goto(f"/conversations/{_talk(reader)}")
        page.fill(BOX, "three")
        page.press(BOX, "Enter")
        expect(page.locator(BOX)).to_have_value("three\n")
        page.press(BOX, "Control+Enter")
        expect(page.locator(".bubble.own")).to_have_count(2)


def test_without_scripts(author, reader, said, visit):
    with visit(scripts=False, width=390) as page:
        log_in(page, "reader")
        page.goto("/@author")
        page.get_by_role("link", name="Message", exact=True).click()
        page.fill(BOX, "Hello there.")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".bubble.own .content")).to_have_text("Hello there.")
        page.fill(BOX, "And more.")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".bubble.own")).to_have_count(2)
        assert Post.objects.filter(author=reader, body__startswith="@author ").count() == 2


def test_leaving_can_be_taken_back_for_a_moment(reader, said, visit):
    said("First.")
    with visit() as page:
        log_in(page, "reader")
        page.clock.install()
        talk = f"/conversations/{_talk(reader)}"
        page.goto(talk)
        for ends in (False, True):
            page.get_by_role("button", name="More").click()
            page.get_by_role("link", name="Leave").click()
            undo = page.get_by_role("button", name="Undo")
            expect(undo).to_be_visible()
            if ends:
                page.clock.run_for(8_100)
                expect(page).to_have_url(re.compile("/conversations$"))
                expect(page.get_by_role("status").filter(has_text="You have left")).to_be_visible()
            else:
                undo.click()
                expect(undo).to_have_count(0)
                assert len(conversations_page(reader, Cursor()).items) == 1
        assert not conversations_page(reader, Cursor()).items
