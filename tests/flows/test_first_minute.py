"""The first minute in a browser: home begins with people, its tools are a menu, and arriving ends at a full page."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import FilePayload, expect

from apps.accounts.actions import update_settings
from apps.feeds.actions import create_feed
from apps.graph.actions import follow_user
from apps.notifications.actions import mark_read
from apps.notifications.models import ReadMarker
from apps.search.models import StarterPack
from apps.tags.trends import count_days
from feedcache.ids import first_id_at
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import PASSWORD, deliver, make_user, publish
from tests.support.pictures import picture

pytestmark = [*needs_browser, pytest.mark.flows]

HIGHEST = {1280: 230, 390: 170}  # CSS pixels above the first post
POSTS = 25
FILE = FilePayload(name="wall.png", mimeType="image/png", buffer=picture((600, 400)))
TOOLS = "Tools and other timelines"
ACROSS = "one => [one.getBoundingClientRect().top, one.getBoundingClientRect().right]"


@pytest.fixture
def followed(author, reader):
    """Posts of the author on the reader's home page."""
    follow_user(reader, author)
    for number in range(POSTS):
        publish(author, f"Number {number}.")
    deliver()


def _leave_off(reader):
    """As who read something two days ago: then the page offers more above the posts than at any other time."""
    long_ago = timezone.now() - timedelta(days=2)
    mark_read(reader, first_id_at(int(long_ago.timestamp())), timeline=ReadMarker.Timeline.HOME)


@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("width", HIGHEST)
def test_home_begins_with_people(width, language, returns, followed, reader, visit):
    if returns:
        _leave_off(reader)
    update_settings(reader, interface_language=language)
    with visit(width=width) as page:
        log_in(page, "reader")
        first = page.locator("#feed .post").first
        expect(first).to_be_visible()
        assert page.locator("html").get_attribute("lang").lower().startswith(language[:2])
        assert page.locator("#to-left-off").count() == returns
        assert first.bounding_box()["y"] <= HIGHEST[width]


@pytest.mark.parametrize("scripts", [True, False])
def test_the_tools_of_home_are_one_menu(scripts, followed, reader, visit):
    with visit(scripts=scripts) as page:
        log_in(page, "reader")
        expect(page.get_by_label("Up to")).to_be_hidden()
        expect(page.locator(".tabs a")).to_have_text(["Following", "Square", "Ranked", "Activity"])
        button = page.get_by_role("button", name=TOOLS)
        button.focus()
        page.keyboard.press("Enter")
        menu = page.locator("#tools")
        for name in ("Catch up", "Check my home page", "Lists", "Tags", "Feeds"):
            expect(menu.get_by_role("link", name=name)).to_be_visible()
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()
        expect(button).to_be_focused()
        button.click()
        menu.get_by_role("button", name="Hide read posts").click()
        button.click()
        expect(menu.get_by_role("button", name="Show read posts")).to_be_visible()
        menu.get_by_label("Up to").fill("2026-11-01")
        menu.get_by_role("button", name="Jump").click()
        expect(page.get_by_text("There is nothing here from that day or earlier.")).to_be_visible()


def test_tabs_that_do_not_fit_scroll_below_the_button(followed, reader, visit):
    for name in ("A feed of mine", "Another one", "The third of them"):
        create_feed(reader, name=name, include_tags=["tea"], is_pinned=True)
    with visit(width=390) as page:
        log_in(page, "reader")
        expect(page.locator(".tabs a")).to_have_count(7)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        button = page.get_by_role("button", name=TOOLS)
        top, right = button.evaluate(ACROSS)
        assert right <= 390
        assert page.locator(".tabs a").last.evaluate(ACROSS)[1] > 390
        page.locator(".tabs a").last.focus()
        assert page.locator(".tabs a").last.evaluate(ACROSS)[1] <= 390
        assert button.evaluate(ACROSS) == pytest.approx([top, right], abs=1)


def test_other_timelines_have_the_menu_too(followed, reader, visit):
    with visit() as page:
        log_in(page, "reader")
        for path in ("/public", "/ranked", "/aggregate"):
            page.goto(path)
            page.get_by_role("button", name=TOOLS).click()
            expect(page.locator("#tools a")).to_have_text(
                ["Lists", "Bookmarks", "Tags", "Feeds", "Collections"]
            )


@pytest.fixture
def pack(transactional_db):
    """Three people of a starter pack, who have written more than a page."""
    made = StarterPack.objects.create(title="A good start", language="en")
    people = [make_user(name, display_name=name.title()) for name in ("ines", "juno", "kofi")]
    made.members.set(people)
    for number in range(24):
        publish(people[number % 3], f"Number {number}. #tea", language="en")
    deliver()
    count_days(days=1)
    return made


@pytest.mark.parametrize("scripts", [True, False])
def test_arriving(scripts, pack, visit):
    with visit(scripts=scripts) as page:
        page.goto("/join")
        page.get_by_label("Handle").fill("newcomer")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        main = page.get_by_role("main")

        def go_on(heading):
            expect(main.get_by_role("heading", name=heading)).to_be_visible()
            main.get_by_role("button", name="Save and continue").click()

        expect(page).to_have_url(re.compile("/welcome$"))
        page.get_by_label("Name", exact=True).fill("Nele Ahlers")
        page.get_by_label("Picture", exact=True).set_input_files(FILE)
        go_on("Who are you?")
        page.get_by_role("checkbox", name="#tea").focus()  # by keyboard
        page.keyboard.press("Space")
        page.get_by_label("Other tags").fill("#walks")
        go_on("What do you like to read about?")
        main.get_by_role("button", name="Follow all A good start").click()
        deliver()
        expect(page.get_by_text("You follow all of them.")).to_be_visible()
        expect(main.get_by_role("button", name="Following")).to_have_count(3)
        main.get_by_role("link", name="Continue").click()
        page.get_by_label("What is happening?").fill("Hello, everybody.")
        page.get_by_role("button", name="Post", exact=True).click()
        expect(page.locator("#feed > article")).to_have_count(20)
        expect(page.locator("#feed .content").first).to_have_text("Hello, everybody.")
        expect(page.locator("#feed [data-promoted]")).to_have_count(0)


def test_every_step_can_be_skipped_and_an_empty_home_offers_people(pack, visit):
    with visit(scripts=False, width=390) as page:
        page.goto("/join")
        page.get_by_label("Handle").fill("newcomer")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        for _step in range(2):
            page.get_by_role("link", name="Skip this step").click()
        page.get_by_role("main").get_by_role("link", name="Continue").click()
        page.get_by_role("link", name="Skip this step").click()
        expect(page.get_by_text("Follow someone to fill this page.")).to_be_visible()
        assert page.locator(".who").first.bounding_box()["y"] < HIGHEST[390] + 60  # the title
        page.get_by_role("button", name="Follow all A good start").click()
        deliver()
        page.goto("/")
        expect(page.locator("#feed > article")).to_have_count(20)


def test_on_a_low_screen_the_menu_scrolls(followed, reader, visit):
    """As a window of 1280 x 900 that is enlarged four times."""
    with visit(width=320) as page:
        page.set_viewport_size({"width": 320, "height": 225})
        log_in(page, "reader")
        page.get_by_role("button", name=TOOLS).click()
        menu = page.locator("#tools")
        box = menu.bounding_box()
        assert box["y"] + box["height"] <= 225
        last = menu.get_by_role("link", name="Feeds")
        last.focus()
        assert last.bounding_box()["y"] < 225
