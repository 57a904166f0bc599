"""What happens on the page one is on:
a post from the home page, a deletion, more of a thread, the net that goes away.
"""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from apps.graph.actions import follow_user
from apps.graph.models import Block, Mute
from apps.graph.queries import exact_relations
from apps.posts.actions.drafts import PollDraft
from apps.posts.models import Post
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import delivered, publish
from tests.support.waiting import wait_until

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
        page.get_by_role("button", name="Post", exact=True).click()  # its keys come with a script
        expect(page.locator("#feed .content").first).to_have_text("Better.")
        expect(page.locator(".composer .errorlist")).to_have_count(0)
        assert _is_still_there(page)


@pytest.fixture
def moments(visit):
    """A page of reader on /@reader or another one, whose clock is the test's own: `page.clock.run_for`."""

    @contextmanager
    def open_page(path, tolerated="nothing"):
        with visit(tolerated=tolerated) as page:
            log_in(page, "reader")
            page.clock.install()
            page.goto(path)
            _mark(page)
            yield page

    return open_page


def _choose(card, label):
    card.get_by_role("button", name="More").click()
    card.locator(".menu").get_by_text(label, exact=True).click()
    card.page.mouse.move(0, 0)  # away from the toast, whose time stands still below the pointer
    expect(card).to_be_hidden()


def _said(page, text):
    return page.get_by_role("status").filter(has_text=text).last


ENDED = 8_100  # milliseconds: the moment for which a deed can be taken back is over


def test_after_a_deletion_the_next_post_has_the_focus(reader, moments):
    posts = [publish(reader, f"Number {number}.") for number in range(3)]
    with moments("/@reader") as page:
        for post, focused in (
            (posts[1], f"#p{posts[0].pk}"),
            (posts[0], f"#p{posts[2].pk}"),
            (posts[2], "#main"),
        ):
            card = page.locator(f"#p{post.pk}")
            _choose(card, "Delete")
            expect(page.locator(focused)).to_be_focused()
            expect(_said(page, "Deleting the post")).to_be_visible()
            assert Post.objects.get(pk=post.pk).deleted_at is None
            page.clock.run_for(ENDED)
            expect(card).to_have_count(0)
            expect(_said(page, "Deleted.")).to_be_visible()
            page.clock.run_for(ENDED)  # the sentence is gone before the next one
        assert _is_still_there(page)
        assert not Post.objects.filter(deleted_at=None).exists()


@pytest.mark.parametrize("way", ["button", "key"])
def test_a_deletion_that_is_taken_back(reader, moments, way):
    post = publish(reader, "Stays.")
    with moments("/@reader") as page:
        card = page.locator(f"#p{post.pk}")
        _choose(card, "Delete")
        if way == "key":
            page.keyboard.press("u")
        else:
            page.get_by_role("button", name="Undo").click()
        expect(card).to_be_visible()
        expect(card).to_be_focused()
        page.clock.run_for(3 * ENDED)
        page.goto("/@reader")
        expect(card).to_be_visible()
        assert Post.objects.filter(deleted_at=None).count() == 1


def test_the_moment_is_as_long_again_for_who_looks_at_the_sentence(reader, moments):
    post = publish(reader, "Stays.")
    with moments("/@reader") as page:
        _choose(page.locator(f"#p{post.pk}"), "Delete")
        page.get_by_role("button", name="Undo").focus()
        page.clock.run_for(3 * ENDED)
        page.get_by_role("button", name="Undo").press("Enter")
        expect(page.locator(f"#p{post.pk}")).to_be_visible()
        assert Post.objects.get().deleted_at is None


def test_who_leaves_the_page_has_meant_it(reader, moments):
    post = publish(reader, "Goes.")
    with moments("/@reader") as page:
        _choose(page.locator(f"#p{post.pk}"), "Delete")
        page.goto("/about")
        wait_until(lambda: Post.objects.get().deleted_at, "the post is deleted")


def test_what_fails_is_there_again(reader, moments):
    post = publish(reader, "Stays.")
    with moments("/@reader", tolerated="ERR_FAILED") as page:
        page.route("**/delete*", lambda route: route.abort())
        _choose(page.locator(f"#p{post.pk}"), "Delete")
        page.clock.run_for(ENDED)
        expect(_said(page, "That didn't work.")).to_be_visible()
        expect(page.locator(f"#p{post.pk}")).to_be_visible()


@pytest.mark.parametrize(
    ("label", "said"), [("Block @author", "is blocked."), ("Mute @author", "is muted.")]
)
def test_blocking_and_muting_leave_nothing_of_them(author, reader, moments, label, said):
    for number in range(2):
        publish(author, f"You won't see this again, {number}.")
    with moments("/public") as page:
        _choose(page.locator(".post").first, label)
        for _twice in range(2):
            expect(page.locator(".post:visible")).to_have_count(0)
            page.get_by_role("button", name="Undo").click()
            expect(page.locator(".post:visible")).to_have_count(2)
            _choose(page.locator(".post").first, label)
        assert not Block.objects.exists()
        assert not Mute.objects.exists()
        page.clock.run_for(ENDED)
        expect(_said(page, said)).to_be_visible()
        expect(page.locator(".post")).to_have_count(0)
        assert _is_still_there(page)


def test_unfollowing_takes_a_moment(author, reader, moments):
    follow_user(reader, author)
    with moments("/@author") as page:
        button = page.locator(".controls .btn[aria-pressed=true]")
        for _twice in range(2):
            button.click()
            expect(button).to_have_attribute("aria-disabled", "true")
            page.get_by_role("button", name="Undo").click()
            expect(button).to_have_attribute("aria-disabled", "false")
        button.click()
        expect(button).to_have_attribute("aria-disabled", "true")
        assert exact_relations(reader.pk, [author.pk]).following
        page.clock.run_for(ENDED)
        expect(page.locator(".controls .btn[aria-pressed=false]")).to_be_focused()
        assert not exact_relations(reader.pk, [author.pk]).following
        assert _is_still_there(page)


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


def test_a_vote_shows_its_result_where_one_is(author, reader, visit):
    post = publish(
        author, "Which?", poll=PollDraft(["Red", "Green"], 3600), content_warning="Colours"
    )
    with visit() as page:
        log_in(page, "reader")
        page.goto("/public")
        _mark(page)
        card = page.locator(f"#p{post.pk}")
        card.get_by_text("Colours").click()
        card.get_by_label("Green").check()
        card.get_by_role("button", name="Vote").click()
        expect(card.get_by_text("100 %")).to_be_visible()  # behind the warning, which stays open
        expect(card.locator(".voting")).to_be_focused()
        assert _is_still_there(page)
