"""Short videos without sound: they play while they are on the screen, and who would rather not is heard."""

from io import BytesIO

import pytest
from playwright.sync_api import expect

from apps.accounts.actions import update_settings
from apps.posts.actions.uploads import upload_media
from apps.posts.models import Transcode
from apps.posts.tasks import transcode
from tests.flows.browsing import log_in, needs_browser
from tests.flows.test_video import PLAYS_H264
from tests.support.factories import publish
from tests.support.videos import video

pytestmark = [*needs_browser, pytest.mark.flows]
MOVES = """(video) => new Promise((done) => {
  video.ontimeupdate = () => video.currentTime > 0 && done(!video.paused && video.muted && video.loop);
})"""


@pytest.fixture
def address(author):
    upload = upload_media(author, BytesIO(video(sound=False, size="320x240")), alt="A test.")
    transcode(Transcode.objects.get().pk)
    return f"/@author/{publish(author, 'Look.', media_ids=[upload.pk]).pk}"


def test_it_plays_by_itself_until_it_is_held(address, visit):
    with visit() as page:
        if not page.evaluate(PLAYS_H264):
            pytest.skip("this Chromium plays no H.264")
        page.goto(address)
        player = page.get_by_label("A test.")
        assert player.evaluate(MOVES)
        assert player.evaluate("(video) => video.controls") is False
        held = page.locator(".loop button")
        expect(held).to_have_text("Pause")
        held.focus()
        page.keyboard.press("Enter")
        expect(held).to_have_text("Play")
        assert player.evaluate("(video) => video.paused")
        page.evaluate("document.body.style.paddingBlockEnd = '300vh'")
        page.mouse.wheel(0, 1500)
        page.mouse.wheel(0, -1500)
        expect(held).to_have_text("Play")  # held is held
        held.click()
        expect(held).to_have_text("Pause")
        page.evaluate("scrollTo(0, 1500)")
        expect(held).to_have_text("Play")  # nobody sees it
        page.evaluate("scrollTo(0, 0)")
        expect(held).to_have_text("Pause")


@pytest.mark.parametrize("why", ["the device", "the reader", "no scripts"])
def test_it_waits_for_who_would_rather_not(why, address, reader, visit):
    update_settings(reader, plays_loops=why != "the reader")
    with visit(scripts=why != "no scripts") as page:
        if why == "the device":
            page.emulate_media(reduced_motion="reduce")
        if why == "the reader":
            log_in(page, "reader")
        page.goto(address)
        page.wait_for_load_state("networkidle")
        player = page.get_by_label("A test.")
        expect(player).to_have_attribute("controls", "")
        expect(page.locator(".loop button")).to_have_count(0)
        if why != "no scripts":
            assert player.evaluate("(video) => video.paused")
