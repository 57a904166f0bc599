"""Pictures above the page, and the keys that open them, in a real browser."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from apps.posts.actions.uploads import upload_picture
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import publish
from tests.support.pictures import picture

pytestmark = [*needs_browser, pytest.mark.flows]


def test_pictures_one_at_a_time(author, reader, visit):
    numbers = [upload_picture(author, BytesIO(picture()), alt=alt).pk for alt in ("One.", "Two.")]
    post = publish(author, "Look.", media_ids=numbers)
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@author")
        page.keyboard.press("j")
        page.keyboard.press("e")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("img", name="One.")).to_be_visible()
        expect(dialog.get_by_text("One.")).to_be_visible()
        page.keyboard.press("ArrowRight")
        expect(dialog.get_by_role("img", name="Two.")).to_be_visible()
        dialog.get_by_role("button", name="Next picture").click()
        expect(dialog.get_by_role("img", name="One.")).to_be_visible()
        page.keyboard.press("l")  # says nothing to the post below
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(page.locator(f"#p{post.pk} .media a").first).to_be_focused()
        expect(page.locator(".act.like")).to_have_attribute("aria-pressed", "false")


def test_keys_that_go_somewhere_and_none_when_switched_off(author, reader, visit):
    publish(author, "Look.")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@author")
        page.keyboard.press("j")
        page.keyboard.press("m")
        expect(page.get_by_role("dialog").get_by_label("What is happening?")).to_have_value(
            "@author "
        )
        reader.keys = "off"
        reader.save()
        page.goto("/@author")
        page.keyboard.press("j")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator("article:focus")).to_have_count(0)


def test_an_avatar_is_cropped(reader, visit):
    buffer = BytesIO()
    halves = Image.new("RGB", (200, 100), (200, 0, 0))
    halves.paste((0, 0, 200), (100, 0, 200, 100))
    halves.save(buffer, "PNG")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/settings/profile")
        file = {"name": "a.png", "mimeType": "image/png", "buffer": buffer.getvalue()}
        page.get_by_label("Picture", exact=True).set_input_files(file)
        part = page.get_by_role("group", name="Crop area").first
        expect(part).to_be_visible()
        part.focus()
        for _press in range(12):
            page.keyboard.press("ArrowRight")
        expect(page.locator("#id_avatar_box")).to_have_value("0.50000,0.00000,1.00000,1.00000")
        page.get_by_role("button", name="Save changes").click()
        expect(page.get_by_role("status")).to_contain_text("Saved.")
    reader.refresh_from_db()
    with Image.open(reader.avatar.path) as made:
        red, _green, blue = np.asarray(made.convert("RGB"))[200, 10]
        assert blue > red
