"""What people do every day, in Firefox: the tasks of `test_tasks`, and what is done by keys and pickers."""

import base64
import re

import pytest
from playwright.sync_api import expect

from apps.accounts.actions import update_settings
from apps.posts.models import Post
from apps.search.indexing import index_new_people
from tests.flows import test_tasks
from tests.flows.browsing import log_in
from tests.flows.firefox import needs_firefox
from tests.flows.test_tasks import TASKS, Hand, a_post, said
from tests.support.pictures import picture
from tests.support.waiting import wait_until

pytestmark = [*needs_firefox, pytest.mark.flows]
world = test_tasks.world  # a fixture
# A headless Firefox has no clipboard for pictures, and what WebDriver drags never goes over anything: these events are
# made as Firefox makes them.
PASTE = """(area, base64) => {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], "image.png", { type: "image/png" }));
  const event = new ClipboardEvent("paste", { bubbles: true, cancelable: true });
  Object.defineProperty(event, "clipboardData", { value: clipboardData });
  area.dispatchEvent(event);
}"""
NUMBERS = "(all) => all.map((one) => one.dataset.picture)"
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def dialog(hand):
    hand.key("n")
    box = hand.at("dialog .composer")
    expect(box.locator("textarea[name=body]")).to_be_focused()
    return box


def write_by_key_with_a_poll(hand, world):
    box = dialog(hand)
    hand.page.keyboard.type("Tea or coffee?")
    hand.press(box.locator(".poll-field summary"))
    hand.write(box.locator("[name=option_1]"), "Tea")
    hand.write(box.locator("[name=option_2]"), "Coffee")
    hand.press(box.locator(".end .btn:not(.ghost)"))
    asked = wait_until(said("Tea or coffee?"), "it is published")
    assert asked
    assert asked.poll.options == ["Tea", "Coffee"]


def delete_and_undo(hand, world):
    post = a_post(hand, world.reader, "Not for long.")
    hand.menu(hand.card_of(post), "[href*='/delete']")
    expect(hand.card_of(post)).to_be_hidden()
    hand.press(".toast.undo .take-back")
    expect(hand.card_of(post)).to_be_visible()
    assert not Post.objects.get(pk=post.pk).deleted_at


def delete_and_leave(hand, world):
    post = a_post(hand, world.reader, "Gone with the page.")
    hand.menu(hand.card_of(post), "[href*='/delete']")
    expect(hand.card_of(post)).to_be_hidden()
    assert not Post.objects.get(pk=post.pk).deleted_at
    hand.page.goto("/public")
    wait_until(lambda: Post.objects.get(pk=post.pk).deleted_at, "it is deleted")


def mention_by_its_beginning(hand, world):
    index_new_people()
    body = dialog(hand).locator("textarea[name=body]")
    hand.page.keyboard.type("Hello @aut")
    expect(hand.at(".suggested:popover-open [role=option]")).to_have_text([re.compile("@author")])
    hand.key("Enter")
    expect(body).to_have_value("Hello @author ")


def pick_an_emoji(hand, world):
    box = dialog(hand)
    hand.page.keyboard.type("Tea ")
    hand.press(box.locator("[data-emoji]"))
    expect(hand.at(".emoji input")).to_be_focused()
    hand.page.keyboard.type("teapot" if hand.language == "en" else "茶壶")
    hand.press(hand.at(".emoji [role=gridcell]").filter(has_text="🫖"))
    body = box.locator("textarea[name=body]")
    expect(body).to_have_value("Tea 🫖")
    expect(body).to_be_focused()


def paste_pictures_and_drag_them_into_another_order(hand, world):
    box = dialog(hand)
    hand.page.keyboard.type("Walls.")
    for number in range(2):
        box.locator("[name=body]").evaluate(PASTE, base64.b64encode(picture((600, 400))).decode())
        expect(box.locator(".upload > img")).to_have_count(number + 1, timeout=30_000)
    uploads = box.locator(".upload")
    before = uploads.evaluate_all(NUMBERS)
    uploads.nth(1).drag_to(uploads.nth(0))
    carried = hand.page.evaluate_handle("new DataTransfer()")
    uploads.nth(0).dispatch_event("dragover", {"dataTransfer": carried})
    uploads.nth(0).dispatch_event("dragend", {"dataTransfer": carried})
    assert uploads.evaluate_all(NUMBERS) == before[::-1]


def switch_a_setting(hand, world):
    hand.page.goto("/settings/reading")
    hand.press(".switch:has([name=hides_replies])")
    with hand.page.expect_navigation():
        hand.press("main .form .buttons .btn")
    hand.page.goto("/settings/reading")
    expect(hand.at("[name=hides_replies]")).to_be_checked()


SHARED = [
    "like", "repost", "answer", "post_something", "vote", "write_to_somebody", "search", "put_somebody_into_a_list",
]  # fmt: skip
OWN = [
    write_by_key_with_a_poll, delete_and_undo, delete_and_leave, mention_by_its_beginning, pick_an_emoji,
    switch_a_setting, paste_pictures_and_drag_them_into_another_order,
]  # fmt: skip
DONE = {**{name: TASKS[name][0] for name in SHARED}, **{act.__name__: act for act in OWN}}
ON_PHONES = ["answer", "write_by_key_with_a_poll", "pick_an_emoji"]


@pytest.mark.parametrize(
    ("name", "language", "width"),
    [*((name, "en", 1280) for name in DONE), *((name, "zh-hans", 390) for name in ON_PHONES)],
)
def test_a_task(name, language, width, world, visit_firefox):
    update_settings(world.reader, interface_language=language)
    with visit_firefox(width=width) as page:
        log_in(page, "reader")
        DONE[name](Hand(page, scripts=True, language=language), world)
        assert page.evaluate(TOO_WIDE) <= 0


@pytest.mark.parametrize(
    ("event", "script", "complaint"),
    [
        ("console", "console.error('Something is wrong.')", "Something is wrong"),
        ("pageerror", "setTimeout(() => missing.name)", "missing is not defined"),
        ("console", "document.body.innerHTML = '<p style=color:red>'", "CSP"),
        ("requestfinished", "fetch('/static/js/missing.js')", "404"),
    ],
)
def test_what_goes_wrong_is_heard(event, script, complaint, visit_firefox):
    def go_wrong():
        with visit_firefox() as page:
            page.goto("/login", wait_until="networkidle")
            with page.expect_event(event):
                page.evaluate(f"() => {{ {script} }}")

    with pytest.raises(AssertionError, match=complaint):
        go_wrong()
