"""Pages of timelines and posts."""

import re

import pytest
from django.test import Client

from apps.engagement.actions import bookmark_post, like_post
from apps.graph.actions import block_user
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.pages import END

HTMX = {"HX-Request": "true"}
QUERIES_AT_MOST = 25


def _cards(response):
    return re.findall(r'<article class="post[^"]*" id="p(\d+)"', response.text)


def _older(response):
    part = response.text.split('id="older"')[1]
    found = re.search(r'href="([^"]*max_id=\d+)"', part)
    return found[1].replace("&amp;", "&") if found else None


class TestHome:
    def test_visitors_see_what_this_is_and_the_public_timeline(self, alice):
        post = publish(alice)
        page = Client().get("/")
        assert 'href="/join"' in page.text
        assert _cards(page) == [str(post.pk)]
        assert "hx-get" not in page.text

    def test_members_see_whom_they_follow(self, alice, bob, carol, page_of):
        post = publish(alice)
        publish(carol)
        deliver()
        for address in ("/", "/home"):
            assert _cards(page_of(bob).get(address)) == [str(post.pk)]

    def test_an_empty_home_says_what_to_do(self, alice, carol, page_of):
        publish(alice)
        page = page_of(carol).get("/").text
        assert "data-until-followed" in page
        assert "/@alice/follow" in page

    def test_pages_joined_are_the_whole_list(self, alice, bob, page_of):
        posts = [str(publish(alice, str(number)).pk) for number in range(5)]
        deliver()
        browser, older, pages = page_of(bob), "/?", []
        while older:
            page = browser.get(f"{older}&limit=2")
            pages.append(_cards(page))
            older = _older(page)
            assert len(pages) <= 3
        assert pages == [posts[:2:-1], posts[2:0:-1], posts[:1]]

    def test_for_htmx_the_next_page_is_a_fragment(self, alice, bob, page_of):
        for number in range(3):
            publish(alice, str(number))
        deliver()
        browser = page_of(bob)
        fragment = browser.get(_older(browser.get("/?limit=2")), headers=HTMX)
        assert len(_cards(fragment)) == 1
        assert "<html" not in fragment.text
        assert END in fragment.text

    def test_a_bad_cursor(self, alice, page_of):
        browser = page_of(alice)
        for address in ("/", "/public", "/@alice", "/bookmarks"):
            for cursor in ("x", "-1", "1e9", "9" * 30, "%2B5"):
                answer = browser.get(f"{address}?max_id={cursor}")
                assert answer.status_code == 400, (address, cursor)

    def test_text_that_is_no_text(self, alice):
        assert Client().get("/public?max_id=%00").status_code == 400
        assert Client().get("/@al%00ice").status_code == 400


class TestPill:
    def test_counts_what_is_new(self, alice, bob, page_of):
        browser = page_of(bob)
        old = delivered(alice)
        browser.get("/")
        publish(alice, "New.")
        publish(alice, "Newer.")
        deliver()
        pill = browser.get(f"/home/new?last_id={old.pk}", headers=HTMX)
        assert "2 new posts" in pill.text

    def test_nothing_new_is_no_content(self, alice, bob, page_of):
        post = delivered(alice)
        browser = page_of(bob)
        browser.get("/")
        assert browser.get(f"/home/new?last_id={post.pk}", headers=HTMX).status_code == 204

    def test_stops_asking_when_the_session_is_over(self, db):
        assert Client().get("/home/new", headers=HTMX).status_code == 286

    def test_is_no_page(self, alice, page_of):
        assert page_of(alice).get("/home/new")["Location"] == "/"


class TestProfile:
    def test_tabs(self, alice, bob, page_of):
        own = publish(alice)
        answer = publish(alice, "An answer.", reply_to_id=publish(bob).pk)
        for viewer in (None, alice, bob):
            assert _cards(page_of(viewer).get("/@alice")) == [str(own.pk)]
            page = page_of(viewer).get("/@alice/with_replies")
            assert _cards(page) == [str(answer.pk), str(own.pk)]

    def test_the_address_has_one_form(self, alice):
        response = Client().get("/@ALICE")
        assert (response.status_code, response["Location"]) == (301, "/@alice")

    def test_nobody(self, db):
        assert Client().get("/@nobody").status_code == 404


class TestThread:
    def test_shows_what_it_answers_and_what_answers_it(self, alice, bob, page_of):
        first = publish(alice, "First.")
        second = publish(bob, "Second.", reply_to_id=first.pk)
        third = publish(alice, "Third.", reply_to_id=second.pk)
        page = page_of(None).get(f"/@bob/{second.pk}")
        assert _cards(page) == [str(first.pk), str(second.pk), str(third.pk)]
        assert f'<article class="post focused" id="p{second.pk}"' in page.text

    def test_a_lost_ancestor_leaves_no_hole(self, alice, bob):
        first = publish(alice)
        second = publish(bob, reply_to_id=first.pk)
        delete_post(first.pk, by=alice)
        page = Client().get(f"/@bob/{second.pk}")
        assert 'class="tombstone"' in page.text

    def test_a_hidden_ancestor_is_not_called_deleted(self, alice, bob, carol, page_of):
        first = publish(alice)
        second = publish(carol, reply_to_id=first.pk)
        block_user(alice, bob)
        page = page_of(bob).get(f"/@carol/{second.pk}").text
        gap = page.split('class="tombstone"')[1].split("</article>")[0]
        assert "This post isn't available." in gap.replace("&#x27;", "'")

    def test_the_handle_is_put_right(self, alice, bob):
        post = publish(alice)
        response = Client().get(f"/@bob/{post.pk}")
        assert response["Location"] == f"/@alice/{post.pk}"

    def test_no_post(self, alice):
        for post_id in ("1", "0", "01", "abc", "9" * 25, "%D9%A3"):
            assert Client().get(f"/@alice/{post_id}").status_code == 404, post_id

    def test_restricted_posts_are_for_those_they_are_for(self, alice, bob, carol, page_of):
        post = publish(alice, visibility="followers")
        statuses = [
            page_of(who).get(f"/@alice/{post.pk}").status_code for who in (alice, bob, carol, None)
        ]
        assert statuses == [200, 200, 404, 404]


class TestCards:
    def test_say_who_reposted_and_show_the_post(self, alice, bob, page_of):
        post = publish(alice)
        made = repost(bob, post.pk)
        page = page_of(alice).get("/@bob")
        assert _cards(page) == [str(made.pk)]
        assert "reposted" in page.text
        assert f'action="/posts/{post.pk}/like"' in page.text

    def test_a_warning_hides_what_it_warns_of(self, alice):
        publish(alice, "The end.", content_warning="Spoilers")
        page = Client().get("/@alice").text
        assert page.index("<summary>") < page.index("Spoilers") < page.index("The end.")

    def test_a_lost_quote_is_said(self, alice, bob):
        post = publish(bob)
        publish(alice, quote_of_id=post.pk)
        delete_post(post.pk, by=bob)
        assert "The quoted post isn&#x27;t available." in Client().get("/@alice").text or (
            'class="quote lost"' in Client().get("/@alice").text
        )

    def test_texts_are_never_markup(self, alice, page_of):
        alice.display_name = "<b>A</b>"
        alice.save()
        publish(alice, "<script>alert(1)</script> {{ x }} \"'", content_warning="<i>w</i>")
        page = page_of(alice).get("/@alice").text
        assert "<script>alert" not in page
        assert "<b>A" not in page
        assert "<i>w" not in page

    def test_buttons_know_what_the_viewer_did(self, alice, bob, page_of):
        post = publish(alice)
        like_post(bob, post.pk)
        page = page_of(bob).get("/@alice").text
        assert f'action="/posts/{post.pk}/unlike"' in page
        assert 'aria-label="Like, 1 like"' in page

    def test_for_visitors_buttons_are_links_to_the_login(self, alice):
        post = publish(alice)
        page = Client().get("/@alice").text
        assert f"/login?next=/%40alice/{post.pk}" in page
        assert "<form class=" not in page.split('id="feed"')[1].split('id="older"')[0]


class TestQueries:
    """The same number of queries for a page of one item and of five."""

    @pytest.mark.long
    @pytest.mark.parametrize("place", ["/", "/public", "/@alice", "/bookmarks", "thread"])
    def test_do_not_grow(self, alice, bob, page_of, django_assert_max_num_queries, place):
        browsers = (
            {"bob": page_of(bob)}
            if place == "/bookmarks"
            else {"bob": page_of(bob), "a visitor": page_of(None)}
        )
        counts = {viewer: [] for viewer in browsers}
        for number in (1, 4):
            address = self._add(alice, bob, number, place)
            for viewer, browser in browsers.items():
                for _warm in range(2):  # the account first, then the session
                    browser.get(address)
                with django_assert_max_num_queries(QUERIES_AT_MOST) as seen:
                    shown = len(_cards(browser.get(address)))
                counts[viewer].append(len(seen))
                assert shown == {1: 1, 4: 5}[number] + (place == "thread"), viewer
        assert all(one == many for one, many in counts.values()), counts

    def _add(self, alice, bob, number, place):
        if place == "thread":
            first = Post.objects.order_by("pk").first() or publish(alice)
            for index in range(number):
                publish(make_user(), str(index), reply_to_id=first.pk)
            return f"/@alice/{first.pk}"
        for index in range(number):
            post = publish(alice, f"{index} @bob")
            bookmark_post(bob, post.pk)
            like_post(bob, post.pk)
        deliver()
        return place
