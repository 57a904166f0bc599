"""What happens on the page one is on:
a post from the home page, a deletion, more of a thread, the net that goes away.
"""

import pytest
from playwright.sync_api import expect

from apps.posts.models import Post
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import delivered, publish

pytestmark = [*needs_browser, pytest.mark.flows]


def _mark(page):
    """Something that is gone when the page is loaded anew."""
    page.evaluate("window.here = true")


def _is_still_there(page):
    return page.evaluate("window.here === true")


def test_a_post_from_the_home_page_stands_above_all_others(reader, visit):
    delivered(reader, "There before.")
    with visit(tolerated="422") as page:
        log_in(page, "reader")
        _mark(page)
        area = page.get_by_label("What is happening?")
        button = page.get_by_role("button", name="Post", exact=True)
        for text in ("First.", "Second."):
            area.fill(text)
            button.click()
            expect(page.locator("#feed .content").first).to_have_text(text)
            expect(area).to_have_value("")
            expect(area).to_be_focused()
            expect(button).to_be_disabled()
        expect(page.get_by_role("status").filter(has_text="Posted.").first).to_be_visible()
        assert page.evaluate("localStorage.getItem('draft:new')") is None
        numbers = page.locator("#feed > .post").evaluate_all(
            "posts => posts.map((post) => post.getAttribute('aria-posinset'))"
        )
        assert numbers == ["1", "2", "3"]
        expect(page.locator('#feed > [tabindex="0"]')).to_have_count(1)
        page.locator("#feed .act.like").first.click()
        expect(page.locator("#feed .act.like").first).to_have_attribute("aria-pressed", "true")
        assert _is_still_there(page)
        assert Post.objects.count() == 3


def test_what_is_refused_on_the_home_page_stays_in_its_place(reader, visit):
    delivered(reader, "There before.")
    with visit(tolerated="422") as page:
        log_in(page, "reader")
        _mark(page)
        area = page.get_by_label("What is happening?")
        area.fill(" ".join(f"@someone{number}" for number in range(21)))
        area.press("Control+Enter")
        expect(page.locator(".composer .errorlist")).to_have_text("Too many mentions or tags.")
        expect(area).to_be_focused()
        area.fill("Better.")
        area.press("Control+Enter")
        expect(page.locator("#feed .content").first).to_have_text("Better.")
        expect(page.locator(".composer .errorlist")).to_have_count(0)
        assert _is_still_there(page)


def test_after_a_deletion_the_next_post_has_the_focus(reader, visit):
    posts = [publish(reader, f"Number {number}.") for number in range(3)]
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@reader")
        _mark(page)
        for post, focused in (
            (posts[1], f"#p{posts[0].pk}"),
            (posts[0], f"#p{posts[2].pk}"),
            (posts[2], "#main"),
        ):
            card = page.locator(f"#p{post.pk}")
            card.get_by_role("button", name="More").click()
            card.get_by_role("link", name="Delete").click()
            dialog = page.get_by_role("dialog", name="Delete this post?")
            expect(dialog).to_contain_text("Replies stay. This can't be undone.")
            expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
            dialog.get_by_role("button", name="Delete").click()
            expect(card).to_have_count(0)
            expect(page.locator(focused)).to_be_focused()
            expect(page.get_by_role("status").filter(has_text="Deleted.").last).to_be_visible()
        assert _is_still_there(page)
        assert not Post.objects.filter(deleted_at=None).exists()


def test_a_deletion_that_is_called_off(reader, visit):
    post = publish(reader, "Stays.")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/@reader")
        card = page.locator(f"#p{post.pk}")
        for way in ("Cancel", "Escape"):
            card.get_by_role("button", name="More").click()
            card.get_by_role("link", name="Delete").click()
            expect(page.get_by_role("dialog")).to_be_visible()
            if way == "Cancel":
                page.get_by_role("dialog").get_by_role("link", name="Cancel").click()
            else:
                page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_have_count(0)
            expect(card.get_by_role("button", name="More")).to_be_focused()
        assert Post.objects.filter(deleted_at=None).count() == 1


def test_blocking_asks_in_place_and_leaves_nothing_of_them(author, reader, visit):
    publish(author, "You won't see this again.")
    with visit() as page:
        log_in(page, "reader")
        page.goto("/public")
        page.locator(".post").get_by_role("button", name="More").click()
        page.locator(".post").get_by_role("link", name="Block @author").click()
        page.get_by_role("dialog").get_by_role("button", name="Block").click()
        expect(page.get_by_role("status").filter(has_text="@author is blocked.")).to_be_visible()
        expect(page.get_by_text("You won't see this again.")).to_have_count(0)


def test_more_of_a_thread_comes_when_it_is_asked_for(author, reader, visit):
    posts = [publish(author, "The first.")]
    for number in range(1, 7):
        content_digest = reader if number % 2 else author
        posts.append(publish(content_digest, f"Answer {number}.", reply_to_id=posts[-1].pk))
    with visit() as page:
        page.goto(f"/@author/{posts[0].pk}")
        _mark(page)
        expect(page.locator("#feed > .post")).to_have_count(3)
        page.get_by_role("link", name="Show 4 more replies").click()
        expect(page.locator("#feed > .post")).to_have_count(5)
        expect(page.locator(f"#p{posts[3].pk}")).to_be_focused()
        page.get_by_role("link", name="Show 2 more replies").click()
        expect(page.locator("#feed > .post")).to_have_count(7)
        expect(page.get_by_role("link", name="more repl")).to_have_count(0)
        shown = page.locator("#feed > .post").evaluate_all("posts => posts.map((one) => one.id)")
        assert shown == [f"p{post.pk}" for post in posts]
        assert _is_still_there(page)
    with visit(scripts=False) as page:
        page.goto(f"/@author/{posts[0].pk}")
        page.get_by_role("link", name="Show 4 more replies").click()
        expect(page.locator(".focused .content")).to_have_text("Answer 2.")


def test_offline_is_said_and_nothing_is_sent(author, reader, visit):
    publish(author, "Still here.")
    with visit(tolerated="ERR_INTERNET_DISCONNECTED") as page:
        log_in(page, "reader")
        page.goto("/@author")
        page.context.set_offline(True)
        strip = page.locator("main > .end-of-list", has_text="You're offline.")
        expect(strip).to_be_visible()
        like = page.locator("#feed").get_by_role("button", name="Like")
        like.click()
        expect(like).to_have_attribute("aria-pressed", "false")
        page.context.set_offline(False)
        expect(strip).to_have_count(0)
        like.click()
        expect(like).to_have_attribute("aria-pressed", "true")


def test_a_post_is_shared_where_the_device_can(reader, visit):
    post = delivered(reader, "Worth telling.")
    with visit() as page:
        page.add_init_script(
            "window.told = []; navigator.share = async (what) => { told.push(what); };"
        )
        log_in(page, "reader")
        for _twice in range(2):
            page.get_by_role("button", name="More").first.click()
            page.get_by_role("link", name="Share…").click()
        assert [what["url"].rpartition("/")[2] for what in page.evaluate("told")] == 2 * [
            str(post.pk)
        ]
        expect(page.get_by_role("link", name="Share…")).to_be_hidden()


def test_a_device_that_cannot_share_is_offered_nothing(reader, visit):
    delivered(reader, "Worth telling.")
    with visit() as page:
        page.add_init_script("navigator.share = undefined")
        log_in(page, "reader")
        page.get_by_role("button", name="More").first.click()
        expect(page.get_by_role("link", name="Copy link")).to_be_visible()
        expect(page.get_by_role("link", name="Share…")).to_have_count(0)
