"""The author of a post watches its delivery."""

import pytest
from playwright.sync_api import expect

from apps.events.live import announce
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import deliver, delivered, publish

pytestmark = [*needs_browser, pytest.mark.flows]


def test_the_page_follows_the_delivery_without_being_reloaded(author, reader, streamed, visit):
    follow_user(reader, author)
    home_timeline(reader, Cursor())
    deliver()
    old = delivered(author, "Old.")
    with visit(address=streamed) as page:
        log_in(page, "author")
        post = publish(author, "New.")
        page.goto(f"{streamed}/explain/{post.pk}/journey")
        said = page.locator("#journey .said")
        expect(said).to_contain_text("It is on its way.")
        deliver()
        expect(said).to_contain_text("Reached 1 of 1 follower")
        # one that is finished is not asked about again and again: its page hears of it
        chunk = FanoutChunk.objects.filter(job=old.pk)
        page.goto(f"{streamed}/explain/{old.pk}/journey")
        page.locator("[data-bell][data-listening], [data-listening]").first.wait_for(
            state="attached"
        )
        chunk.update(delivered=0, dormant=1)
        announce("delivered", post_id=old.pk)
        expect(said).to_contain_text("Reached 0 of 1 follower")


def test_it_plays_only_where_movement_is_welcome(author, reader, streamed, visit):
    follow_user(reader, author)
    home_timeline(reader, Cursor())
    deliver()
    post = delivered(author, "Hello.")
    with visit(address=streamed) as page:
        log_in(page, "author")
        page.goto(f"{streamed}/explain/{post.pk}/journey")
        moves = "() => document.querySelector('.tree .dots').getAnimations().length"
        assert page.evaluate(moves) == 1
        page.emulate_media(reduced_motion="reduce")
        page.reload()
        assert page.evaluate(moves) == 0
        expect(page.get_by_role("link", name="Play it again")).to_be_hidden()
