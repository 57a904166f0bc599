"""Pages around a post and lists of posts: history, reactions, embeds, likes, the tabs of a profile."""

import re
from io import BytesIO

import pytest
from django.test import Client

from apps.engagement.actions import like_post
from apps.graph.actions import block_user
from apps.posts.actions.edit import edit_post, pin_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from tests.support.factories import deliver, publish, repost
from tests.support.pages import EMPTY
from tests.support.pictures import picture

AROUND = ["history", "likes", "reposts", "quotes", "embed"]


def _cards(response):
    return re.findall(r'<article class="post[^"]*" id="p(\d+)"', response.text)


class TestHistory:
    def test_every_version_the_newest_first(self, alice):
        post = publish(alice, "One <b>.", content_warning="Careful")
        edit_post(alice, post.pk, body="Two.", content_warning="")
        edit_post(alice, post.pk, body="Three.")
        page = Client().get(f"/@alice/{post.pk}/history").text
        assert page.index("Three.") < page.index("Two.") < page.index("One &lt;b&gt;.")
        assert page.index("Two.") < page.index("Careful")
        assert "Edited" not in page
        assert f'href="/@alice/{post.pk}/history"' in Client().get(f"/@alice/{post.pk}").text

    def test_only_the_whole_history_ends_with_the_original(self, alice, monkeypatch):
        post = publish(alice, "One.")
        for text in ("Two.", "Three."):
            edit_post(alice, post.pk, body=text)
        address = f"/@alice/{post.pk}/history"
        assert "The original text" in Client().get(address).text
        for module in ("apps.posts.queries", "apps.web.posts.post"):
            monkeypatch.setattr(f"{module}.MAX_VERSIONS", 2)
        page = Client().get(address).text
        assert ("One." in page, "The original text" in page) == (False, False)

    def test_in_chinese(self, alice, page_of):
        post = publish(alice, "Only this.")
        browser = page_of(alice)
        browser.cookies["lang"] = "zh-hans"
        assert "历史版本" in browser.get(f"/@alice/{post.pk}/history").text


class TestWhoMaySee:
    def test_only_who_may_see_the_post(self, alice, bob, carol, page_of):
        post = publish(alice, visibility="followers")
        browsers = [page_of(bob), page_of(carol), page_of(None)]
        for page in AROUND:
            shown = 404 if page == "embed" else 200  # an embed is what visitors see
            address = f"/@alice/{post.pk}/{page}"
            codes = [browser.get(address).status_code for browser in browsers]
            assert codes == [shown, 404, 404], page

    def test_a_deleted_post_has_nothing_around_it(self, alice, page_of):
        post, browser = publish(alice), page_of(alice)
        delete_post(post.pk, by=alice)
        for page in AROUND:
            assert browser.get(f"/@alice/{post.pk}/{page}").status_code == 404, page

    def test_under_another_name(self, alice, bob):
        post = publish(alice)
        for page in AROUND:
            answer = Client().get(f"/@bob/{post.pk}/{page}")
            assert (answer.status_code, answer.headers.get("Location")) in [
                (302, f"/@alice/{post.pk}/{page}"),
                (404, None),
            ]

    def test_a_bad_cursor(self, alice):
        post = publish(alice)
        for page in ("likes", "reposts", "quotes"):
            for cursor in ("x", "-1", "9" * 30):
                answer = Client().get(f"/@alice/{post.pk}/{page}?max_id={cursor}")
                assert answer.status_code == 400, (page, cursor)


class TestReactions:
    def test_who_likes_and_reposts_it(self, alice, bob, carol, page_of):
        post = publish(alice)
        like_post(bob, post.pk)
        repost(carol, post.pk)
        pages = [Client().get(f"/@alice/{post.pk}/{tab}").text for tab in ("likes", "reposts")]
        assert ["/@bob" in page for page in pages] == [True, False]
        assert ["/@carol" in page for page in pages] == [False, True]
        thread = Client().get(f"/@alice/{post.pk}").text
        assert f'href="/@alice/{post.pk}/likes"' in thread
        assert f'href="/@alice/{post.pk}/reposts"' in thread

    def test_nobody_whom_the_viewer_is_cut_off_from(self, alice, bob, carol, page_of):
        post = publish(alice)
        like_post(bob, post.pk)
        block_user(carol, bob)
        assert "/@bob" not in page_of(carol).get(f"/@alice/{post.pk}/likes").text

    def test_what_quotes_it(self, alice, bob, page_of):
        post = publish(alice)
        quote = publish(bob, "See:", quote_of_id=post.pk)
        publish(bob, "Hidden. @alice", quote_of_id=post.pk, visibility="mentioned")
        page = Client().get(f"/@alice/{post.pk}/quotes")
        assert _cards(page) == [str(quote.pk)]

    def test_nobody_yet(self, alice):
        post = publish(alice)
        for tab in ("likes", "reposts", "quotes"):
            assert EMPTY in Client().get(f"/@alice/{post.pk}/{tab}").text


class TestEmbeds:
    def test_it_may_stand_in_a_frame_and_nothing_can_be_pressed_in_it(self, alice, bob, page_of):
        post = publish(alice, "Hello <b>.")
        for reader in (bob, None):
            page = page_of(reader).get(f"/@alice/{post.pk}/embed")
            assert "frame-ancestors *" in page.headers["Content-Security-Policy"]
            assert "X-Frame-Options" not in page.headers
            assert "Hello &lt;b&gt;." in page.text
            assert "<form" not in page.text
            assert "<script" not in page.text

    def test_every_other_page_may_not(self, alice, page_of):
        post = publish(alice)
        page = page_of(None).get(f"/@alice/{post.pk}")
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["X-Frame-Options"] == "DENY"
        assert f"/@alice/{post.pk}/embed&quot;" in page.text or f"/@alice/{post.pk}/embed\"" in page.text  # fmt: skip


class TestLikes:
    def test_what_one_likes_the_last_first(self, alice, bob, page_of):
        posts = [publish(alice, str(number)) for number in range(3)]
        for post in (posts[2], posts[0]):
            like_post(bob, post.pk)
        browser = page_of(bob)
        assert _cards(browser.get("/likes")) == [str(posts[0].pk), str(posts[2].pk)]
        assert EMPTY in page_of(alice).get("/likes").text

    def test_is_for_members(self, db):
        assert Client().get("/likes")["Location"] == "/login?next=%2Flikes"


@pytest.mark.usefixtures("media")
class TestProfile:
    def test_the_tabs(self, alice, bob):
        plain, answered = publish(alice, "Plain."), publish(bob)
        answer = publish(alice, "Answer.", reply_to_id=answered.pk)
        number = upload_picture(alice, BytesIO(picture()), alt="A wall.").pk
        shown = publish(alice, "Picture.", media_ids=[number])
        pages = [_cards(Client().get(f"/@alice{tab}")) for tab in ("", "/with_replies", "/media")]
        assert pages == [
            [str(shown.pk), str(plain.pk)],
            [str(shown.pk), str(answer.pk), str(plain.pk)],
            [str(shown.pk)],
        ]

    @pytest.mark.parametrize(
        ("focus", "classes"), [((-1.0, 1.0), "fx0 fy0"), ((0.4, -1.0), "fx3 fy4"), ((0.0, 0.0), "")]
    )
    def test_what_stays_in_sight_of_a_cropped_picture(self, alice, focus, classes):
        number = upload_picture(alice, BytesIO(picture()), alt="A wall.", focus=focus).pk
        publish(alice, "Picture.", media_ids=[number])
        page = Client().get("/@alice").text
        assert (f'class="{classes}"' if classes else "<img src=") in page

    def test_what_is_pinned_stands_above(self, alice, page_of):
        posts = [publish(alice, str(number)) for number in range(3)]
        pin_post(alice, posts[0].pk)
        page = Client().get("/@alice")
        assert _cards(page) == [str(posts[number].pk) for number in (0, 2, 1)]
        assert page.text.count("Pinned") == 1
        positions = re.findall(r'aria-posinset="(\d+)"', page.text)
        assert positions == ["1", "2", "3"]
        assert "Pinned" not in Client().get("/@alice/with_replies").text
        assert "Pinned" not in Client().get(f"/@alice?max_id={posts[2].pk}").text

    def test_an_edited_answer_below_leads_to_its_history(self, alice, bob, page_of):
        post = publish(alice)
        edit_post(alice, post.pk, body="Other.")
        deliver()
        assert f'<a href="/@alice/{post.pk}/history">Edited' in page_of(bob).get("/").text


def test_no_cursor_names_what_a_block_hides(alice, bob, carol, api_of):
    posts = [publish(alice, f"Number {number}.") for number in range(20)]
    theirs = publish(bob, "By somebody else.")
    shared = repost(alice, theirs.pk)
    block_user(alice, carol)
    api = api_of(carol)
    paths = (
        f"accounts/{alice.pk}/statuses?limit=1",
        f"accounts/{alice.pk}/statuses?limit=1&exclude_reblogs=1",
        f"statuses/{theirs.pk}/reblogged_by",
    )
    for path in paths:
        answer = api.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()) == (200, [])
        assert not any(str(one.pk) in answer.get("Link", "") for one in (*posts, shared))
