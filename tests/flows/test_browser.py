"""A person in a real browser, with and without JavaScript, on a real web server."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from apps.oauth.actions import register_application
from apps.posts.models import Post
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import PASSWORD, deliver, delivered, publish
from tests.support.waiting import wait_until

pytestmark = [*needs_browser, pytest.mark.flows]


def _post(page, text):
    page.goto("/")
    page.get_by_label("What is happening?").fill(text)
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator("#feed .content").first).to_have_text(text)


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False])
def test_from_signing_up_to_the_second_page(author, visit, scripts):
    for number in range(25):
        publish(author, f"Number {number}.")
    with visit(scripts=scripts) as page:
        page.goto("/")
        page.get_by_label("Handle").fill("newcomer")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        page.get_by_role("link", name="Go to the home page").click()
        expect(page.get_by_text("Follow someone to fill this page.")).to_be_visible()
        page.goto("/@author")
        page.locator(".profile").get_by_role("button", name="Follow").click()
        expect(page.locator(".profile").get_by_role("button", name="Following")).to_be_visible()
        deliver()
        _post(page, "Hello, everybody.")
        # with scripts the new post stands above the page that was there, without a page load
        expect(page.locator("#feed > article")).to_have_count(21 if scripts else 20)
        older = page.get_by_role("link", name="Older posts")
        if scripts:
            older.scroll_into_view_if_needed()
            expect(page.locator("#feed > article")).to_have_count(26)
            expect(page.locator("#feed > article").last).to_have_attribute("aria-posinset", "26")
        else:
            older.click()
            expect(page.locator("#feed > article")).to_have_count(6)
        expect(page.get_by_text("You're all caught up.")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("verb", ["Like", "Repost", "Bookmark"])
def test_pressing_and_pressing_again(author, reader, visit, scripts, verb):
    publish(author, "Press me.")
    with visit(scripts=scripts) as page:
        log_in(page, "reader")
        page.goto("/@author")
        button = page.locator("#feed").get_by_role("button", name=verb)
        expect(button).to_have_attribute("aria-pressed", "false")
        button.click()
        if scripts and verb == "Repost":  # which asks
            page.locator(".menu:popover-open").get_by_role("button", name="Repost").click()
        expect(page.locator(f'button[formaction$="/un{verb.lower()}"]')).to_have_attribute(
            "aria-pressed", "true"
        )
        page.reload()
        expect(button).to_have_attribute("aria-pressed", "true")
        button.click()
        if scripts and verb == "Repost":
            page.get_by_role("button", name="Undo repost").click()
        expect(page.locator(f'button[formaction$="/{verb.lower()}"]')).to_have_attribute(
            "aria-pressed", "false"
        )


@pytest.mark.parametrize("scripts", [True, False])
def test_reply_edit_and_delete(author, reader, visit, scripts):
    post = publish(author, "Answer me.")
    with visit(scripts=scripts) as page:
        log_in(page, "reader")
        page.goto(f"/@author/{post.pk}")
        page.get_by_role("link", name="Write a reply").click()
        reply = page.get_by_label("Your reply")
        if scripts:  # the script puts the cursor behind the name first
            expect(reply).to_be_focused()
        reply.fill("@author Here is an answer.")
        page.get_by_role("main").get_by_role("button", name="Reply").click()
        if scripts:  # it was written in its place
            page.locator("#feed > .post .when").last.click()
        expect(page.locator(".focused .content")).to_have_text("@author Here is an answer.")
        page.locator(".focused").get_by_role("button", name="More").click()
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("What is happening?").fill("A better answer.")
        page.get_by_role("button", name="Save changes").click()
        expect(page.locator(".focused .content")).to_have_text("A better answer.")
        page.locator(".focused").get_by_role("button", name="More").click()
        page.get_by_role("link", name="Delete", exact=True).click()
        if scripts:  # it can be taken back until the page is left
            expect(page.get_by_role("button", name="Undo", exact=True)).to_be_visible()
            page.goto("/")
        else:
            page.get_by_role("button", name="Delete").click()
            expect(page.get_by_text("Deleted.")).to_be_visible()
        gone = Post.objects.filter(author=reader).exclude(deleted_at=None)
        wait_until(gone.exists, "the answer is deleted")


def test_a_like_that_fails_is_taken_back(author, reader, visit):
    publish(author)
    with visit(tolerated="503") as page:
        log_in(page, "reader")
        page.goto("/@author")
        page.route("**/like", lambda route: route.fulfill(status=503))
        button = page.locator("#feed").get_by_role("button", name="Like")
        with page.expect_response("**/like"):
            button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        expect(page.get_by_role("status")).to_contain_text("That didn't work.")


def test_the_keyboard(author, reader, visit):
    posts = [publish(author, f"Number {number}.") for number in range(3)]
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@author")
        for _ in range(2):
            page.keyboard.press("j")
        second = page.locator(f"#p{posts[1].pk}")
        expect(second).to_be_focused()
        expect(page.locator('#feed > [tabindex="0"]')).to_have_count(1)
        page.keyboard.press("l")
        expect(second.locator(".act.like")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("b")
        page.wait_for_url("**/bookmarks")
        page.keyboard.press("n")
        expect(page.get_by_role("dialog").get_by_label("What is happening?")).to_be_focused()


def test_the_composer_counts_and_keeps_a_draft(reader, visit):
    with visit() as page:
        log_in(page, "reader")
        page.goto("/compose")
        area = page.get_by_label("What is happening?")
        button = page.get_by_role("button", name="Post", exact=True)
        expect(button).to_be_disabled()
        area.fill("👩‍👩‍👧 https://example.org/" + "a" * 100)
        expect(page.locator(".meter .left")).to_have_text(str(500 - 1 - 1 - 23))
        area.fill("x" * 501)
        expect(page.locator(".meter .left")).to_have_text("-1")
        expect(button).to_be_disabled()
        area.fill("Unfinished")
        wait_until(
            lambda: "Unfinished" in (page.evaluate("localStorage.getItem('draft:new')") or ""),
            "the draft is kept",
        )
        page.goto("/compose")
        expect(area).to_have_value("Unfinished")
        page.get_by_role("button", name="Discard").click()
        expect(area).to_have_value("")
        area.fill("Sent.")
        area.press("Control+Enter")
        expect(page.locator(".focused .content")).to_have_text("Sent.")
        page.goto("/compose")
        expect(area).to_have_value("")


def test_new_posts_are_announced(author, reader, visit):
    follow_user(reader, author)
    delivered(author, "Old.")
    with visit(tolerated="ERR_NAME_NOT_RESOLVED") as page:  # no stream here: the page asks instead
        page.clock.install()
        log_in(page, "reader")
        delivered(author, "New.")
        page.clock.run_for(31_000)
        page.get_by_role("link", name="1 new post").click()
        expect(page.locator("#feed .content").first).to_have_text("New.")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_nothing_is_wider_than_a_small_screen(author, reader, visit, language):
    reader.display_name = "W" * 50
    reader.interface_language = language
    reader.save()
    post = publish(author, "w" * 400, content_warning="w" * 200)
    publish(reader, "https://example.org/" + "a" * 400, quote_of_id=post.pk)
    publish(reader, "w" * 400, reply_to_id=post.pk)
    with visit(width=320, tolerated="404") as page:
        for address in (
            "/",
            "/login",
            "/join",
            "/about",
            "/@reader",
            "/password/reset",
            "/nobody/here",
        ):
            _fits(page, address)
        _log_in_in(page, "reader", language)
        for address in (
            "/", "/public", "/@reader", f"/@author/{post.pk}", "/compose", f"/compose?reply_to={post.pk}",
            "/notifications", "/bookmarks", "/settings", "/settings/profile", "/settings/account",
            "/settings/appearance",
            "/@author/block", "/@reader/followers",
        ):  # fmt: skip
            _fits(page, address)


def _log_in_in(page, handle, language):
    page.context.add_cookies([{"name": "lang", "value": language, "url": page.url}])
    page.goto("/login")
    page.locator("#id_username").fill(handle)
    page.locator("#id_password").fill(PASSWORD)
    page.locator("form.form .btn").click()
    page.wait_for_url("**/")


def _fits(page, address):
    page.goto(address)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 320, f"{address} is {width} pixels wide"


def test_an_application_keeps_the_window_in_which_it_is_allowed(author, site, visit):
    """Phanpy takes the login for failed if the window that it opened counts as closed, and waits for its message."""
    app = "https://app.example"
    back = f"{app}/back"
    client_id = register_application(
        name="App", redirect_uris=[back], scopes="read"
    ).application.client_id
    asked = urlencode({"response_type": "code", "client_id": client_id, "redirect_uri": back})
    with visit() as page:
        empty = {"body": "", "content_type": "text/html"}
        page.context.route(f"{app}/**", lambda route: route.fulfill(**empty))
        page.goto(app)
        with page.expect_popup() as opened:
            page.evaluate("url => { window.opened = open(url) }", f"{site}/oauth/authorize?{asked}")
        window = opened.value
        window.get_by_label("Handle or e-mail").fill("author")
        window.get_by_label("Password", exact=True).fill(PASSWORD)
        window.locator("form.form").get_by_role("button", name="Log in").click()
        window.get_by_role("button", name="Allow", exact=True).click()
        window.wait_for_url(f"{back}?code=*")
        assert not page.evaluate("opened.closed")
        assert window.evaluate("opener !== null")
        assert page.evaluate("opened.location.pathname") == "/back"
