"""What browsers suggest while somebody types, and the panel of emoji: keys, screen readers, compositions, phones."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from apps.graph.groups.actions import create_group
from apps.graph.models import UserList
from apps.notifications.conversations.actions import begin
from apps.notifications.models import Conversation
from apps.posts.actions.drafts import Draft
from apps.search.indexing import index_new_people
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import deliver, make_user, publish

pytestmark = [*needs_browser, pytest.mark.flows]
BODY = ".composer textarea[name=body]"
OPTIONS = ".suggested:popover-open [role=option]"
CELLS = ".emoji [role=gridcell]"


@pytest.fixture
def people(author, reader):
    """A followee and a stranger who begin alike, and two tags."""
    make_user("austen", display_name="Jane 小明")
    follow_user(reader, author)
    publish(author, "#teapot #tea")
    deliver()
    index_new_people()


def opened(page, address="/compose"):
    log_in(page, "reader")
    page.goto(address)


def typed(page, field, text):
    page.locator(field).press_sequentially(text)


def test_a_mention_by_the_keyboard(people, visit):
    with visit() as page:
        opened(page)
        body = page.locator(BODY)
        expect(body).to_have_attribute("aria-autocomplete", "list")
        typed(page, BODY, "Hello @au")
        expect(page.locator(OPTIONS)).to_have_text([re.compile("@author"), re.compile("@austen")])
        first, second = page.locator(OPTIONS).all()
        expect(first).to_have_attribute("aria-selected", "true")
        expect(body).to_have_attribute("aria-activedescendant", first.get_attribute("id"))
        expect(body).to_have_attribute("aria-controls", "suggested")
        expect(page.locator("[aria-live=polite].sr")).to_have_text("2 results")
        page.keyboard.press("ArrowDown")
        expect(body).to_have_attribute("aria-activedescendant", second.get_attribute("id"))
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        expect(body).to_have_value("Hello @austen ")
        expect(page.locator(OPTIONS)).to_have_count(0)
        expect(body).not_to_have_attribute("aria-activedescendant", re.compile("."))
        page.keyboard.press("Control+z")  # it can be taken back
        expect(body).to_have_value("Hello @au")
        page.keyboard.press("End")
        typed(page, BODY, "t")
        expect(page.locator(OPTIONS)).to_have_text([re.compile("@author")])
        page.keyboard.press("Escape")
        expect(page.locator(OPTIONS)).to_have_count(0)
        expect(body).to_have_value("Hello @aut")
        page.keyboard.press("Enter")
        expect(body).to_have_value("Hello @aut\n")


def test_what_is_typed_of_a_tag_may_be_all_of_it(people, visit):
    with visit() as page:
        opened(page)
        body = page.locator(BODY)
        typed(page, BODY, "#te")
        expect(page.locator(OPTIONS)).to_have_count(2)
        expect(body).not_to_have_attribute("aria-activedescendant", re.compile("."))
        page.keyboard.press("Enter")
        expect(body).to_have_value("#te\n")
        typed(page, BODY, "#te")
        page.locator(OPTIONS, has_text="teapot").click()
        expect(body).to_have_value("#te\n#teapot ")
        expect(body).to_be_focused()
        expect(page.locator(OPTIONS)).to_have_count(0)


def test_emoji_by_name_and_what_is_no_word(people, visit):
    with visit() as page:
        opened(page)
        body = page.locator(BODY)
        typed(page, BODY, "Good :smile")
        expect(page.locator(OPTIONS).first).to_contain_text("😄")
        page.keyboard.press("Tab")
        expect(body).to_have_value("Good 😄")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        typed(page, BODY, " me@author https://a.example/@au at 12:30 a/#te :) ")
        page.wait_for_timeout(400)  # longer than it waits for a key
        assert [url for url in asked if "/suggest" in url] == []


def test_a_composition_is_left_alone(people, visit):
    with visit() as page:
        opened(page)
        body = page.locator(BODY)
        body.focus()
        page.keyboard.insert_text("你好")
        client = page.context.new_cdp_session(page)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.keyboard.insert_text("@")
        client.send("Input.imeSetComposition", {"text": "xiao", "selectionStart": 4, "selectionEnd": 4})  # fmt: skip
        expect(body).to_have_value("你好@xiao")
        page.wait_for_timeout(400)  # longer than it waits for a key
        assert [url for url in asked if "xiao" in url] == []
        client.send("Input.insertText", {"text": "小明"})
        expect(page.locator(OPTIONS)).to_have_text([re.compile("@austen")])
        body.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
        expect(page.locator(OPTIONS)).to_have_count(1)
        page.keyboard.press("Enter")
        expect(body).to_have_value("你好@austen ")


def test_the_field_that_searches(people, visit):
    with visit() as page:
        opened(page, "/public")
        field = ".col-aside input[type=search]"
        typed(page, field, "te")
        expect(page.locator(OPTIONS)).to_have_count(2)
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=te")
        page.goto("/public")
        typed(page, field, "aus")
        expect(page.locator(OPTIONS)).to_have_count(1)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/@austen")


def test_people_of_a_list_and_the_bio(people, reader, visit):
    group = create_group(UserList, reader, name="Friends")
    with visit() as page:
        opened(page, f"/lists/{group.pk}/edit")
        field = page.get_by_label("Handles")
        field.press_sequentially("au")
        expect(page.locator(OPTIONS)).to_have_text([re.compile("@author")])  # who is followed
        expect(field).to_have_role("combobox")
        expect(field).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Enter")
        expect(field).to_have_value("@author ")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The Author").first).to_be_visible()
        page.goto("/settings/profile")
        page.get_by_label("Bio").press_sequentially("With @aust")
        expect(page.locator(OPTIONS)).to_have_count(1)
        page.keyboard.press("Tab")
        expect(page.get_by_label("Bio")).to_have_value("With @austen ")


def test_a_box_that_sends_on_enter(people, author, reader, visit):
    begin(author, [reader], Draft("Hello."), idempotency_key="")
    with visit(width=390) as page:
        opened(page, f"/conversations/{Conversation.objects.get(user=reader).pk}")
        box = page.locator("#box textarea[name=body]")
        box.press_sequentially("tea :tada")
        expect(page.locator(OPTIONS).first).to_contain_text("🎉")
        page.keyboard.press("Enter")
        expect(box).to_have_value("tea 🎉")
        page.get_by_role("button", name="Emoji").click()
        page.get_by_role("searchbox", name="Search emoji").fill("teapot")
        page.locator(CELLS).get_by_text("🫖").click()
        expect(box).to_have_value("tea 🎉🫖")
        expect(box).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".bubble.own .content")).to_have_text("tea 🎉🫖")


def test_in_the_dialog_over_the_page(people, visit):
    with visit() as page:
        opened(page, "/public")
        page.keyboard.press("n")
        page.get_by_role("dialog").get_by_label("What is happening?").fill("One.")
        page.get_by_role("button", name="Add another post").click()
        more = page.get_by_role("dialog").get_by_label("Another post")
        more.press_sequentially("Hello @aus")
        page.locator(OPTIONS).click()  # what a dialog makes inert could not be
        expect(more).to_have_value("Hello @austen ")
        page.get_by_role("dialog").get_by_role("button", name="Emoji").click()
        page.get_by_role("tab", name="Animals and nature").click()
        page.get_by_role("gridcell", name="dog face").click()
        expect(more).to_have_value("Hello @austen 🐶")
        page.get_by_role("dialog").get_by_role("button", name="Emoji").click()
        expect(page.locator(CELLS)).to_have_text(["🐶"])
        page.keyboard.press("Escape")
        more.press_sequentially(" @aus")
        expect(page.locator(OPTIONS)).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator(OPTIONS)).to_have_count(0)
        expect(more).to_have_value("Hello @austen 🐶 @aus")  # and the dialog is there


@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_on_the_screen_and_accessible(people, visit, width):
    with visit(width=width) as page:
        opened(page)
        typed(page, BODY, "Hello @au")
        expect(page.locator(OPTIONS)).to_have_count(2)
        assert_inside(page, ".suggested")
        assert_accessible(page)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Emoji").first.click()
        expect(page.locator(CELLS).first).to_be_visible()
        assert_inside(page, ".emoji")
        assert_accessible(page)
        for direction in ("rtl", "ltr"):
            page.evaluate(f"document.documentElement.dir = '{direction}'")
            page.keyboard.press("Escape")
            typed(page, BODY, " @au")
            expect(page.locator(OPTIONS)).to_have_count(2)
            assert_inside(page, ".suggested")


def assert_inside(page, selector):
    box = page.locator(selector).bounding_box()
    view = page.viewport_size
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= view["width"]
    assert box["y"] + box["height"] <= view["height"]


def assert_accessible(page):
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_above_where_there_is_no_room_below(people, visit):
    with visit(width=390) as page:
        opened(page)
        page.set_viewport_size({"width": 390, "height": 300})  # what a keyboard leaves
        typed(page, BODY, "\n" * 6 + ":sm")
        expect(page.locator(OPTIONS).first).to_be_visible()
        assert_inside(page, ".suggested")


def test_the_panel_by_the_keyboard(people, visit):
    with visit() as page:
        opened(page)
        body = page.locator(BODY)
        typed(page, BODY, "ab")
        page.keyboard.press("ArrowLeft")
        button = page.get_by_role("button", name="Emoji")
        button.focus()
        page.keyboard.press("Enter")
        search = page.get_by_role("searchbox", name="Search emoji")
        expect(search).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.locator(CELLS).first).to_be_focused()
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "End", "Home", "ArrowRight"):
            page.keyboard.press(key)
        expect(page.get_by_role("gridcell", name="grinning face with big eyes")).to_be_focused()
        expect(page.locator(f"{CELLS}[tabindex='0']")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(body).to_have_value("a😃b")  # at the caret
        expect(body).to_be_focused()
        button.click()
        recent = page.get_by_role("tab", name="Recently used")
        expect(recent).to_have_attribute("aria-selected", "true")
        expect(page.locator(CELLS)).to_have_text(["😃"])
        recent.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="People and body")).to_be_focused()
        expect(page.get_by_role("gridcell", name="waving hand")).to_be_visible()
        page.get_by_label("Skin tone").select_option("🏽")
        page.get_by_role("gridcell", name="waving hand").click()
        expect(body).to_have_value("a😃👋🏽b")
        button.click()
        expect(page.get_by_label("Skin tone")).to_have_value("🏽")
        search.fill("family")
        expect(page.locator(CELLS).first).to_have_text("👪️")  # which has no tones
        search.fill("喷泉")
        expect(page.locator(CELLS)).to_have_text(["⛲️"])
        search.fill("qqq")
        expect(page.locator(".emoji").get_by_text("Nothing was found.")).to_be_visible()
        page.keyboard.press("Escape")  # clears the field
        page.keyboard.press("Escape")
        expect(page.locator(".emoji")).not_to_be_visible()


def test_emoji_are_looked_for_once_somebody_has_typed(people, visit):
    with visit() as page:
        page.clock.install(time=0)
        opened(page)
        page.get_by_role("button", name="Emoji").click()
        page.clock.pause_at(60_000)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.get_by_role("searchbox", name="Search emoji").press_sequentially("teapot")
        page.clock.run_for(200)
        expect(page.locator(CELLS)).to_have_text(["🫖"])
        looked_for = [url for url in asked if "/suggest" in url]
        assert [url.rpartition("=")[2] for url in looked_for] == [":teapot"]


def test_emoji_that_cannot_be_looked_for(people, visit):
    with visit(tolerated="status of 429") as page:
        opened(page)
        page.route("**/suggest?*", lambda route: route.fulfill(status=429))
        page.get_by_role("button", name="Emoji").click()
        page.get_by_role("searchbox", name="Search emoji").fill("teapot")
        expect(page.locator(".toast")).to_be_visible()


def test_nothing_of_it_without_scripts(reader, visit):
    with visit(scripts=False) as page:
        opened(page)
        expect(page.get_by_label("What is happening?")).to_be_visible()
        expect(page.get_by_role("button", name="Emoji")).to_have_count(0)


def test_the_list_stands_at_the_word_that_is_typed(people, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        body = page.locator(BODY)
        tops, starts = [], []
        for before in ("", "One line.\n" * 4, "Some words before it "):
            body.fill("")
            page.keyboard.type(f"{before}@aus")
            expect(page.locator(OPTIONS)).to_have_count(1)
            box = page.locator(".suggested").bounding_box()
            tops.append(box["y"] - body.bounding_box()["y"])
            starts.append(box["x"])
            page.keyboard.press("Escape")
        assert tops[0] + 60 < tops[1]  # four lines down
        assert abs(tops[0] - tops[2]) < 2
        assert starts[0] + 60 < starts[2]  # behind the words


def test_enter_takes_the_first_emoji_that_is_found(people, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        page.locator(".composer [data-emoji]").click()
        page.get_by_role("searchbox", name="Search emoji").fill("teapot")
        page.keyboard.press("Enter")  # before anything has come
        expect(page.locator(BODY)).to_have_value("🫖")


def test_options_of_polls_suggest(people, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose?with=poll")
        page.locator("[name=option_1]").focus()
        page.keyboard.type("@aus")
        page.locator(OPTIONS).click()
        expect(page.locator("[name=option_1]")).to_have_value("@austen ")
