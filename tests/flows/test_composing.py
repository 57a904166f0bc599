"""The composer in a real browser: pictures, descriptions, drafts, answers in place."""

import base64
import json
from datetime import timedelta
from io import BytesIO

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment, Poll, Post, SavedDraft, ScheduledPost
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import publish
from tests.support.pictures import picture
from tests.support.waiting import wait_until

pytestmark = [*needs_browser, pytest.mark.flows]
FILE = {"name": "wall.png", "mimeType": "image/png", "buffer": picture((600, 400))}
# What a browser does when a file is pasted, as no test can press it.
PASTE = """async ([area, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], "wall.png", { type: "image/png" }));
  area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""

DROP = """async ([form, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], "wall.png", { type: "image/png" }));
  form.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def _draft(page, key):
    return json.loads(page.evaluate(f"localStorage.getItem('draft:{key}')") or "null")


def test_one_form_without_scripts(reader, visit):
    with visit(scripts=False, tolerated="422") as page:
        log_in(page, "reader")
        page.goto("/compose")
        page.get_by_label("What is happening?").fill("Look at this.")
        page.locator("summary", has_text="Add pictures").click()
        page.get_by_label("Picture 1").set_input_files(FILE)
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.get_by_text("1 picture has no description.")).to_be_visible()
        page.get_by_label("Describe this for people who can't see it").first.fill("A red wall.")
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.get_by_role("img", name="A red wall.")).to_be_visible()
        expect(page.locator(".focused .content")).to_have_text("Look at this.")


def _choose(page, *files):
    with page.expect_file_chooser() as chooser:
        page.locator(".add-pictures summary").click()
    chooser.value.set_files(files)
    expect(page.locator(".upload > img")).to_have_count(len(files), timeout=30_000)


def _describe(page, place, text):
    page.locator(".upload").nth(place).get_by_role("button", name="ALT").click()
    page.locator("dialog[open]").get_by_role("textbox").fill(text)
    page.get_by_role("button", name="Done").click()


def test_pictures_are_uploaded_while_one_writes(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        _choose(page, FILE, FILE)
        page.get_by_role("button", name="Remove").first.click()
        expect(page.get_by_role("button", name="Remove")).to_be_focused()
        page.get_by_label("What is happening?").fill("Look.")
        page.get_by_role("button", name="Post", exact=True).click()
        nudge = page.get_by_role("button", name="Post anyway")
        expect(nudge).to_be_visible()
        badge = page.get_by_role("button", name="ALT")
        expect(badge).to_be_focused()
        badge.press("Enter")
        alt = page.get_by_label("Describe this for people who can't see it")
        expect(alt).to_be_focused()
        alt.fill("A red wall.")
        page.locator(".seen img").click(position={"x": 5, "y": 5})
        page.keyboard.press("Escape")
        expect(badge).to_be_focused()
        expect(nudge).to_be_hidden()  # nothing is missing any more
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.get_by_role("img", name="A red wall.")).to_be_visible()
        row = Post.objects.get().attachments.get()
        assert row.focus_x < -0.5
        assert row.focus_y > 0.5


def test_pictures_are_put_in_order_by_buttons_and_by_drag(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        _choose(page, FILE, FILE, FILE)
        for place, text in enumerate(["One.", "Two.", "Three."]):
            _describe(page, place, text)
        last = page.locator(".upload").nth(2)
        last.get_by_role("button", name="Move earlier").press("Enter")
        moved = page.locator(".upload").nth(1).get_by_role("button", name="Move earlier")
        expect(moved).to_be_focused()
        moved.press("Enter")
        assert _order(page) == ["Three.", "One.", "Two."]
        page.locator(".upload").nth(2).drag_to(page.locator(".upload").nth(0))
        assert _order(page) == ["Two.", "Three.", "One."]
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.locator(".focused .media img")).to_have_count(3)
        rows = Post.objects.get().attachments.order_by("position")
        assert list(rows.values_list("alt", flat=True)) == ["Two.", "Three.", "One."]


def test_each_post_of_a_thread_takes_its_own_pictures(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.keyboard.press("n")
        dialog = page.get_by_role("dialog", name="New post")
        dialog.get_by_label("What is happening?").fill("One.")
        dialog.get_by_role("button", name="Add another post").click()
        second = dialog.locator(".next-post")
        with page.expect_file_chooser() as chooser:
            second.get_by_role("button", name="Add pictures").click()
        chooser.value.set_files([FILE])
        expect(second.locator(".upload > img")).to_have_count(1, timeout=30_000)
        encoded = base64.b64encode(FILE["buffer"]).decode()
        page.evaluate(PASTE, [second.locator("textarea").first.element_handle(), encoded])
        page.evaluate(DROP, [second.element_handle(), encoded])
        expect(second.locator(".upload > img")).to_have_count(3, timeout=30_000)
        second.locator("[name=take_out]").first.click()
        expect(dialog.locator(".composer > div > .uploads .upload")).to_have_count(0)
        page.keyboard.press("Escape")
        wait_until(SavedDraft.objects.exists, "the draft is kept")
        page.reload()
        page.keyboard.press("n")
        expect(second.locator(".upload > img")).to_have_count(2, timeout=30_000)
        post = dialog.get_by_role("button", name="Post", exact=True)
        post.click()
        # asked for descriptions
        expect(second.get_by_role("button", name="ALT").first).to_be_focused()
        dialog.get_by_role("button", name="Post anyway").click()
        expect(dialog).to_have_count(0)
        assert {post.body: post.attachments.count() for post in Post.objects.all()} == {
            "One.": 0,
            "": 2,
        }


def _order(page):
    return page.locator(".upload textarea").evaluate_all("(all) => all.map((one) => one.value)")


def test_a_picture_is_dropped_onto_the_composer(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        encoded = base64.b64encode(FILE["buffer"]).decode()
        page.evaluate(DROP, [page.locator(".composer").element_handle(), encoded])
        expect(page.locator(".upload > img")).to_have_count(1)


def test_a_picture_is_pasted_and_posted_as_it_is(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        area = page.get_by_label("What is happening?")
        encoded = base64.b64encode(FILE["buffer"]).decode()
        page.evaluate(PASTE, [area.element_handle(), encoded])
        expect(page.locator(".upload > img")).to_have_count(1)
        page.get_by_role("button", name="Post", exact=True).click()
        page.get_by_role("button", name="Post anyway").click()
        expect(page.locator(".focused .media img")).to_be_visible()


def test_a_refused_picture_says_so(reader, visit):
    with visit(tolerated="422") as page:
        log_in(page, "reader")
        page.goto("/compose")
        with page.expect_file_chooser() as chooser:
            page.locator(".add-pictures summary").click()
        chooser.value.set_files([{**FILE, "buffer": b"nothing"}])
        expect(page.get_by_role("status")).to_contain_text("not a picture we can read")
        expect(page.locator(".upload")).to_have_count(0)


def test_a_draft_keeps_everything_until_the_server_has_it(reader, visit):
    waiting = upload_picture(reader, BytesIO(picture()), alt="A wall.")
    with visit(tolerated="ERR_FAILED") as page:
        log_in(page, "reader")
        page.goto("/compose")
        said = {"body": "Unfinished", "content_warning": "Careful", "pictures": [waiting.pk]}
        page.evaluate("(said) => localStorage.setItem('draft:new', said)", json.dumps(said))
        page.reload()
        area = page.get_by_label("What is happening?")
        expect(area).to_have_value("Unfinished")
        expect(page.locator("#id_content_warning")).to_have_value("Careful")
        expect(page.locator(f'[data-picture="{waiting.pk}"]')).to_be_visible()
        page.route("**/posts", lambda route: route.abort())
        with page.expect_event("requestfailed"):
            page.get_by_role("button", name="Post", exact=True).click()
        page.unroute("**/posts")
        page.goto("/compose")
        expect(area).to_have_value("Unfinished")
        expect(page.locator(f'[data-picture="{waiting.pk}"]')).to_be_visible()
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Posted.")
        assert _draft(page, "new") is None
        assert Attachment.objects.get().post == Post.objects.get()


def test_an_answer_in_place(author, reader, visit):
    post = publish(author, "Answer me.")
    publish(author, "Not me.")
    with visit(tolerated="422") as page:
        log_in(page, "reader")
        page.goto("/@author")
        card = page.locator(f"#p{post.pk}")
        card.get_by_role("link", name="Reply").click()
        area = card.get_by_label("Your reply")
        expect(area).to_be_focused()
        expect(area).to_have_value("@author ")
        area.fill("@author " * 30 + "Too many?")
        area.press("Escape")
        expect(area).to_have_count(0)
        expect(card.get_by_role("link", name="Reply")).to_be_focused()
        card.get_by_role("link", name="Reply").click()
        expect(area).to_have_value("@author " * 30 + "Too many?")  # the draft is back
        area.fill("@author Here.")
        card.get_by_role("button", name="Reply", exact=True).click()
        made = page.locator(f"#p{post.pk} + .post .content")
        expect(made).to_have_text("@author Here.")
        expect(area).to_have_count(0)
        assert page.url.endswith("/@author")
        expect(page.locator("#feed > .post").last).to_have_attribute("aria-posinset", "3")


def test_a_poll_has_two_boxes_and_more_when_they_are_asked_for(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        page.get_by_label("What is happening?").fill("Tea?")
        page.locator("summary", has_text="Add a poll").click()
        options = page.locator(".option input:visible")
        expect(options).to_have_count(2)
        expect(page.locator(".option").get_by_role("button", name="Remove")).to_have_count(0)
        more = page.get_by_role("button", name="Add option")
        more.click()
        expect(page.get_by_label("Option 3")).to_be_focused()
        more.click()
        expect(more).to_be_hidden()
        for number, text in enumerate(["Green", "Wrong", "Black", "White"], start=1):
            page.get_by_label(f"Option {number}").fill(text)
        page.locator(".option").nth(1).get_by_role("button", name="Remove").click()
        expect(page.get_by_label("Option 2")).to_be_focused()
        expect(options).to_have_count(3)
        wait_until(lambda: "White" in str(_draft(page, "new")), "the draft is kept")
        page.reload()
        expect(options).to_have_count(3)  # as they were left
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Posted.")
        assert list(Poll.objects.get().options) == ["Green", "Black", "White"]


@pytest.mark.parametrize(("what", "field"), [("poll", "Option 1"), ("time", "Publish at")])
def test_home_leads_to_polls_and_times(reader, visit, what, field):
    with visit(scripts=False) as page:
        log_in(page, "reader")
        page.locator(f'.composer [href$="with={what}"]').click()
        expect(page.get_by_label(field)).to_be_visible()


def test_later_on_the_clock_of_the_author(reader, visit):
    chosen = f"{timezone.now() + timedelta(days=30):%Y-%m-%dT18:30}"
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        page.get_by_label("What is happening?").fill("Later.")
        page.locator("summary", has_text="Publish later").click()
        page.get_by_label("Publish at (your time)").fill(chosen)
        expect(page.get_by_role("button", name="Post", exact=True)).to_have_count(0)
        page.get_by_label("Publish at (your time)").fill("")
        expect(page.get_by_role("button", name="Post", exact=True)).to_be_enabled()
        page.get_by_label("Publish at (your time)").fill(chosen)
        page.get_by_role("button", name="Schedule").click()
        expect(page.get_by_role("status")).to_contain_text("It will be published on")
        toast = page.locator(".toast > span")  # one text: its parts stand in a line
        expect(toast.locator("time")).to_have_count(1)
        assert (
            toast.evaluate("(text) => getComputedStyle(text.querySelector('time')).display")
            == "inline"
        )
        here = page.evaluate("(chosen) => new Date(chosen).toISOString()", chosen)
        assert ScheduledPost.objects.get().scheduled_at.strftime("%Y-%m-%dT%H:%M") == here[:16]
        expect(page.get_by_label("Publish at (your time)")).to_have_value(chosen)


def _add_picture(page, form, alt):
    with page.expect_file_chooser() as chooser:
        form.locator(".add-pictures summary").click()
    chooser.value.set_files([FILE])
    expect(form.locator(".upload > img")).to_have_count(1)
    form.get_by_role("button", name="ALT").click()
    form.get_by_label("Describe this for people who can't see it").fill(alt)
    form.get_by_role("button", name="Done").click()


def test_a_picture_posted_on_the_home_page_stands_in_the_feed(reader, visit):
    publish(reader, "There before.")
    with visit() as page:
        log_in(page, "reader")
        page.evaluate("window.here = true")
        form = page.locator("form.composer")
        _add_picture(page, form, "A red wall.")
        page.get_by_label("What is happening?").fill("Look.")
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.locator("#feed .content").first).to_have_text("Look.")
        expect(page.locator("#feed > .post").first.get_by_role("img", name="A red wall.")).to_be_visible()  # fmt: skip
        expect(form).to_have_count(1)
        expect(page.get_by_label("What is happening?")).to_have_value("")
        expect(form.locator(".upload")).to_have_count(0)
        assert page.evaluate("window.here === true")
        assert Post.objects.count() == 2


def test_a_picture_in_an_answer_in_place(author, reader, visit):
    post = publish(author, "Answer me.")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@author")
        card = page.locator(f"#p{post.pk}")
        card.get_by_role("link", name="Reply").click()
        form = card.locator("form.composer")
        _add_picture(page, form, "A red wall.")
        form.get_by_role("button", name="Reply", exact=True).click()
        made = page.locator(f"#p{post.pk} + .post")
        expect(made.get_by_role("img", name="A red wall.")).to_be_visible()
        expect(form).to_have_count(0)
        expect(made).to_be_focused()


def test_a_post_is_written_in_a_dialog_over_the_feed(author, reader, visit):
    post = publish(author, "There before.")
    with visit() as page:
        log_in(page, "reader")
        page.goto(f"/@author/{post.pk}")
        page.evaluate("window.here = true")
        page.keyboard.press("n")
        dialog = page.get_by_role("dialog", name="New post")
        area = dialog.get_by_label("What is happening?")
        expect(area).to_be_focused()
        area.fill("Unfinished")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.get_by_role("link", name="New post").first.click()
        expect(area).to_have_value("Unfinished")  # Esc kept it
        dialog.get_by_role("button", name="Close").click()
        expect(page.get_by_role("link", name="New post").first).to_be_focused()
        page.keyboard.press("n")
        area.fill("Done.")
        area.press("Control+Enter")
        expect(dialog).to_have_count(0)
        made = Post.objects.get(author=reader)
        view = page.get_by_role("status").get_by_role("link", name="View")
        expect(view).to_have_attribute("href", f"/@reader/{made.pk}")
        assert _draft(page, "new") is None
        assert page.evaluate("window.here === true")


@pytest.mark.parametrize("in_dialog", [True, False])
def test_the_first_post_on_an_empty_home(reader, visit, in_dialog):
    with visit() as page:
        log_in(page, "reader")
        if in_dialog:
            page.keyboard.press("n")
        form = page.locator("dialog .composer" if in_dialog else "form.composer.inline")
        form.get_by_label("What is happening?").fill("Hello.")
        form.get_by_role("button", name="Post", exact=True).click()
        expect(page.locator("#feed .content")).to_have_text("Hello.")
        expect(
            page.locator("form.composer.inline").get_by_label("What is happening?")
        ).to_have_value("")


def test_what_is_begun_on_home_goes_on_in_the_dialog_and_back(reader, visit):
    publish(reader, "There before.")
    with visit(tolerated="422") as page:
        log_in(page, "reader")
        inline = page.locator("#composer textarea[name=body]")
        inline.fill("Tea?")
        page.locator("#composer").get_by_role("link", name="Add a poll").click()
        dialog = page.get_by_role("dialog", name="New post")
        area = dialog.get_by_label("What is happening?")
        expect(area).to_have_value("Tea?")
        area.fill("Tea, all?")
        dialog.get_by_label("Option 1").fill("Yes")
        dialog.get_by_role("button", name="Post", exact=True).click()
        expect(dialog.get_by_text("A poll needs 2 to 4 options.")).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(inline).to_have_value("Tea, all?")
        page.locator("#composer").get_by_role("link", name="Add a poll").click()
        expect(dialog.get_by_label("Option 1")).to_have_value("Yes")
        dialog.get_by_label("Option 2").fill("No")
        dialog.get_by_role("button", name="Post", exact=True).click()
        expect(page.locator("#feed .content").first).to_have_text("Tea, all?")
        expect(dialog).to_have_count(0)
        expect(inline).to_have_value("")
        expect(page.locator("#feed > .post").first).to_have_attribute("aria-posinset", "1")


def test_the_button_of_reposts_offers_a_quote(author, reader, visit):
    post = publish(author, "Tell them.")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@author")
        button = page.locator(f"#p{post.pk} .act.boost")
        menu = page.locator(".menu:popover-open")
        button.click()
        expect(menu.get_by_role("button", name="Repost")).to_be_focused()
        page.keyboard.press("Escape")
        expect(menu).to_have_count(0)
        expect(button).to_be_focused()
        button.press("Enter")
        expect(menu.get_by_role("button", name="Repost")).to_be_focused()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-pressed", "true")
        reposts = Post.objects.filter(source=post, kind="repost", deleted_at=None)
        wait_until(reposts.exists, "it is reposted")
        expect(button).to_have_accessible_name("Repost, 1 repost")  # the server has answered
        button.click()
        menu.get_by_role("button", name="Undo repost").click()
        expect(button).to_have_accessible_name("Repost, 0 reposts")
        button.click()
        menu.get_by_role("link", name="Quote").click()
        dialog = page.get_by_role("dialog", name="Quote")
        dialog.get_by_label("What is happening?").fill("Read this.")
        dialog.get_by_role("button", name="Post", exact=True).click()
        expect(dialog).to_have_count(0)
        wait_until(lambda: Post.objects.filter(source=post, kind="quote").exists(), "it is quoted")
        page.locator(f"#p{post.pk}").focus()
        page.keyboard.press("B")  # the key asks nothing
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(menu).to_have_count(0)


def test_the_page_of_a_post_has_a_box_to_answer_it(author, reader, visit):
    post = publish(author, "Answer me.")
    with visit() as page:
        log_in(page, "reader")
        page.goto(f"/@author/{post.pk}")
        page.evaluate("window.here = true")
        box = page.get_by_role("link", name="Write a reply")
        box.click()
        area = page.get_by_label("Your reply")
        expect(area).to_be_focused()
        expect(box).to_be_hidden()
        area.fill("@author Here.")
        page.get_by_role("button", name="Reply", exact=True).click()
        expect(page.locator(f"#p{post.pk} + .post .content")).to_have_text("@author Here.")
        expect(box).to_be_visible()
        assert page.evaluate("window.here === true")


def test_a_draft_goes_with_its_author_to_another_browser(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        page.get_by_label("What is happening?").fill("Begun here")
        wait_until(SavedDraft.objects.exists, "the server has the draft")
        page.get_by_label("What is happening?").fill("Begun here, and more")
        wait_until(SavedDraft.objects.filter(fields__body="Begun here, and more").exists, "again")
        assert SavedDraft.objects.count() == 1
    with visit() as page:
        log_in(page, "reader")
        page.keyboard.press("n")
        page.get_by_role("dialog").get_by_role("link", name="Drafts").click()
        page.get_by_role("link", name="Begun here, and more").click()
        area = page.get_by_role("dialog").get_by_label("What is happening?")
        expect(area).to_have_value("Begun here, and more")
        area.fill("Done there.")
        page.get_by_role("dialog").get_by_role("button", name="Post", exact=True).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        wait_until(Post.objects.filter(body="Done there.").exists, "it is published")
        wait_until(lambda: not SavedDraft.objects.exists(), "its draft is gone")


def test_a_post_is_deleted_and_written_again(reader, visit):
    post = publish(reader, "Withh a mistake.")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@reader")
        card = page.locator(f"#p{post.pk}")
        card.get_by_role("button", name="More").click()
        card.get_by_role("link", name="Delete and redraft").click()
        page.get_by_role("button", name="Delete and redraft").click()
        area = page.get_by_label("What is happening?")
        expect(area).to_have_value("Withh a mistake.")
        area.fill("Without.")
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.locator(".focused .content")).to_have_text("Without.")
        assert [one.body for one in Post.objects.filter(deleted_at=None)] == ["Without."]
        assert not SavedDraft.objects.exists()


def test_a_thread_is_written_in_one_go(reader, visit):
    publish(reader, "There before.")
    with visit() as page:
        log_in(page, "reader")
        page.keyboard.press("n")
        dialog = page.get_by_role("dialog", name="New post")
        dialog.get_by_label("What is happening?").fill("One.")
        add = dialog.get_by_role("button", name="Add another post")
        add.click()
        second = dialog.get_by_label("Another post").nth(0)
        expect(second).to_be_focused()
        second.fill("x" * 501)
        post = dialog.get_by_role("button", name="Post", exact=True)
        expect(post).to_be_disabled()
        second.fill("Two.")
        add.click()
        dialog.get_by_label("Another post").nth(1).fill("Three.")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.keyboard.press("n")
        expect(dialog.get_by_label("Another post")).to_have_count(2)  # as they were left
        add.click()
        dialog.locator(".next-post").nth(2).get_by_role("button", name="Remove").click()
        expect(dialog.get_by_label("Another post").nth(1)).to_be_focused()
        post.click()
        expect(page.get_by_role("status")).to_contain_text("3 posts have been published.")
        expect(page.locator("#feed .content").nth(0)).to_have_text("Three.")
        expect(page.locator("#feed .content").nth(2)).to_have_text("One.")
