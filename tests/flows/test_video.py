"""A video in a real browser: chosen in the composer, prepared by a worker, posted, played by ranges."""

import pytest
from playwright.sync_api import expect

from apps.posts.models import Attachment, Post
from tests.flows.browsing import log_in, needs_browser
from tests.support.processes import start_worker, stop
from tests.support.videos import CAPTIONS, video

pytestmark = [*needs_browser, pytest.mark.flows]
# VP9 as browsers record it: what comes out is H.264, which not every Chromium plays.
PLAYS_H264 = (
    "document.createElement('video').canPlayType('video/mp4; codecs=\"avc1.64001F, mp4a.40.2\"')"
)

REACHES = """(video, seconds) => new Promise((done) => {
  video.ontimeupdate = () => video.currentTime >= seconds && done(true);
})"""


@pytest.fixture
def worker(transactional_db, tmp_path):
    process = start_worker(tmp_path)
    yield process
    stop(process)


def test_a_video_is_posted_and_plays(reader, visit, worker):
    file = {"name": "a.mp4", "mimeType": "video/mp4", "buffer": video(seconds=20, size="640x480")}
    captions = {"name": "a.vtt", "mimeType": "text/vtt", "buffer": CAPTIONS}
    ranges = []
    with visit() as page:
        page.on("response", lambda answer: ranges.append((answer.status, answer.request.headers.get("range")))
                if answer.url.endswith(".mp4") else None)  # fmt: skip
        log_in(page, "reader")
        page.goto("/compose")
        with page.expect_file_chooser() as chooser:
            page.locator(".add-pictures summary").click()
        chooser.value.set_files([file])
        expect(page.get_by_text("Processing. This may take")).to_be_visible()
        post = page.get_by_role("button", name="Post", exact=True)
        page.get_by_label("What is happening?").fill("Look at this.")
        page.get_by_role("button", name="ALT").click()
        page.get_by_label("Describe this for people who can't see it").fill("A test picture.")
        page.get_by_label("Captions (WebVTT)").set_input_files(captions)
        page.get_by_role("button", name="Done").click()
        expect(post).to_be_disabled()
        expect(page.locator(".upload > img")).to_be_visible(timeout=60_000)
        expect(page.locator(".upload textarea")).to_have_value("A test picture.")
        post.click()
        player = page.get_by_label("A test picture.")
        expect(player).to_be_visible()
        assert player.evaluate("(video) => [video.preload, video.controls]") == ["none", True]
        assert ranges == []  # nothing is loaded before somebody wants to see it
        assert Post.objects.get().kind == "video"
        assert Attachment.objects.get().captions.name
        if not page.evaluate(PLAYS_H264):
            pytest.skip("this Chromium plays no H.264")
        for address in (f"/@reader/{Post.objects.get().pk}", "/@reader"):
            ranges.clear()
            page.goto(address)
            _plays(page.get_by_label("A test picture."))
            assert ranges, address
            assert {status for status, _range in ranges} == {206}, address
            assert all(asked.startswith("bytes=") for _status, asked in ranges), address


def _plays(player):
    player.evaluate("(video) => { video.muted = true; return video.play(); }")
    player.evaluate(REACHES, 0.2)
    player.evaluate("(video) => { video.currentTime = 15; }")
    player.evaluate(REACHES, 15.1)
    assert player.evaluate("(video) => video.textTracks[0].cues.length") == 1


def test_a_broken_video_is_refused_in_words(reader, visit):
    broken = {"name": "a.mp4", "mimeType": "video/mp4", "buffer": video()[:200]}
    with visit(tolerated="422") as page:
        log_in(page, "reader")
        page.goto("/compose")
        with page.expect_file_chooser() as chooser:
            page.locator(".add-pictures summary").click()
        chooser.value.set_files([broken])
        refusal = page.get_by_text("This file is not video or audio we can read.")
        expect(refusal).to_be_visible(timeout=30_000)  # a process of its own looks at the file
        expect(page.locator(".upload")).to_have_count(0)
        page.get_by_label("What is happening?").fill("Then without it.")
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.locator(".focused .content")).to_have_text("Then without it.")
    assert Attachment.objects.count() == 0
