"""What a person trips over: menus on phones, hints that stay, rows, messages, keys, titles, words of the browser."""

import pytest
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import PASSWORD, deliver, publish

pytestmark = [*needs_browser, pytest.mark.flows]
# Whether a word of an element stands on more than one line.
BROKEN_WORDS = r"""(root) => {
  const broken = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest(".sr")) continue;
    for (const word of node.data.matchAll(/[\w.,]+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].filter((box) => box.width).map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""


def _box(locator):
    box = locator.bounding_box()
    assert box is not None
    return box


def test_a_visitor_finds_the_way_on_a_phone(author, visit):
    publish(author, "Hello.")
    with visit(width=390) as page:
        for address in ("/", "/@author", "/about"):
            page.goto(address)
            bar = page.get_by_role("navigation", name="Main, bottom bar")
            expect(bar.get_by_role("link")).to_have_text(["Explore", "Search", "Join", "Log in"])
        for name, end in (("Explore", "/explore"), ("Search", "/search"), ("Join", "/join")):
            page.goto("/")
            page.get_by_role("navigation", name="Main, bottom bar").get_by_role("link", name=name).click()  # fmt: skip
            page.wait_for_url(f"**{end}")


def test_on_a_phone_nothing_lies_on_what_is_read(author, reader, visit):
    for number in range(8):
        publish(reader, f"Number {number}.")
    with visit(width=390) as page:
        log_in(page, "reader")
        page.goto("/@reader")
        bar = _box(page.get_by_role("navigation", name="Main, bottom bar"))
        covering = page.evaluate("""(bar) => [...document.querySelectorAll("body *")].filter((one) => {
          const box = one.getBoundingClientRect();
          return getComputedStyle(one).position === "fixed" && box.height && box.top < bar
            && !one.closest(".live, .skip, dialog");
        }).map((one) => one.className)""", bar["y"])  # fmt: skip
        assert covering == []
        page.get_by_role("navigation", name="Main, bottom bar").get_by_role(
            "link", name="New post"
        ).click()
        page.get_by_label("What is happening?").fill("Written on a phone.")
        page.get_by_role("button", name="Post", exact=True).click()
        toast = _box(page.locator(".toast"))
        assert toast["y"] + toast["height"] <= bar["y"]
        assert abs(toast["x"] + toast["width"] / 2 - 195) <= 1


def test_after_following_the_hint_to_follow_is_gone(author, reader, visit):
    publish(author, "Hello.")
    with visit() as page:
        log_in(page, "reader")
        expect(page.get_by_text("Follow someone to fill this page.")).to_be_visible()
        page.locator(".who").get_by_role("button", name="Follow").first.click()
        expect(page.get_by_text("Follow someone to fill this page.")).to_have_count(0)
        expect(page.get_by_role("link", name="Show posts")).to_be_visible()


def test_rows_start_where_lines_start_and_messages_are_in_the_middle(author, reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/settings/privacy")
        rows = [_box(row) for row in page.locator(".switch span").all()]
        assert len(rows) == 3
        for row in rows:
            assert abs(row["x"] - rows[0]["x"]) <= 1
        page.get_by_role("button", name="Save changes").click()
        toast = _box(page.locator(".toast"))
        assert abs(toast["x"] + toast["width"] / 2 - page.evaluate("innerWidth") / 2) <= 10


def test_the_keys_move_through_notifications(author, reader, visit):
    for text in ("one", "two"):
        publish(author, f"@reader {text}")
    deliver()
    with visit() as page:
        log_in(page, "reader")
        page.goto("/notifications")
        rows = page.locator("#feed > .news")
        page.keyboard.press("j")
        expect(rows.nth(0)).to_be_focused()
        page.keyboard.press("j")
        expect(rows.nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(rows.nth(0)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".focused .content")).to_have_text("@reader two")


def test_files_are_chosen_in_the_words_of_the_page(reader, site, visit):
    with visit() as page:
        page.context.add_cookies([{"name": "lang", "value": "zh-hans", "url": site}])
        page.goto("/login")
        page.locator("#id_username").fill("reader")
        page.locator("#id_password").fill(PASSWORD)
        page.locator("form.form .btn").click()
        page.wait_for_url("**/")
        page.goto("/settings/profile")
        boxes = page.locator("label.file")
        expect(boxes).to_have_text(["选择文件未选择文件"] * 2)
        with page.expect_file_chooser() as chooser:
            boxes.first.locator(".btn").click()
        chooser.value.set_files([{"name": "我.png", "mimeType": "image/png", "buffer": b"x"}])
        expect(boxes.first).to_contain_text("我.png")


@pytest.mark.parametrize("width", [320, 1280])
def test_no_word_of_the_explanation_is_broken(author, reader, visit, width):
    follow_user(reader, author)
    for number in range(3):
        publish(author, f"A post that came, number {number}.")
    publish(reader, "One of my own.")
    deliver()
    with visit(width=width) as page:
        log_in(page, "reader")
        page.goto("/explain")
        expect(page.locator(".why")).to_have_count(4)
        assert (
            page.locator("main .section").evaluate_all(f"(all) => all.flatMap({BROKEN_WORDS})")
            == []
        )
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
