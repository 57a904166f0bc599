"""Pages that write: the composer, edit, delete, and what readers do with a post."""

import re

import pytest
from django.test import Client

from apps.accounts.actions import update_profile
from apps.graph.groups.actions import add_members, create_group, remove_members
from apps.graph.models import Circle
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from tests.support.factories import publish

HTMX = {"HX-Request": "true"}


def _cards(response):
    return re.findall(r'<article class="post[^"]*" id="p(\d+)"', response.text)


class TestWriting:
    def test_a_post_is_on_the_authors_home_at_once(self, alice, page_of):
        browser = page_of(alice)
        browser.get("/")
        response = browser.post("/posts", {"body": "Hello.", "visibility": "public", "next": "/"})
        post = Post.objects.get()
        assert (response.status_code, response["Location"]) == (303, f"/#p{post.pk}")
        assert _cards(browser.get("/")) == [str(post.pk)]
        assert post.language == "en"

    @pytest.mark.slow
    def test_the_composer_starts_with_what_its_author_usually_says(self, alice, bob, page_of):
        update_profile(alice, post_visibility="followers", post_language="zh")
        post = publish(bob, visibility="unlisted")
        for path, visibility in (
            ("/", "followers"),
            ("/compose", "followers"),
            (f"/compose?reply_to={post.pk}", "unlisted"),
        ):
            page = page_of(alice).get(path).text
            chosen = [
                re.findall(r'value="([^"]+)" selected', page.split(f'name="{name}"')[1].split("</select>")[0])
                for name in ("visibility", "language")
            ]  # fmt: skip
            assert chosen == [[visibility], ["zh"]]

    def test_the_language_is_seen_from_the_script(self, alice, page_of):
        page_of(alice).post("/posts", {"body": "你好", "visibility": "public"})
        assert Post.objects.get().language == "zh"

    def test_leads_to_the_post_when_no_page_is_asked_for(self, alice, page_of):
        response = page_of(alice).post("/posts", {"body": "Hello.", "visibility": "public"})
        assert response["Location"] == f"/@alice/{Post.objects.get().pk}"

    def test_twice_is_once(self, alice, page_of):
        fields = {"body": "Hello.", "visibility": "public", "idempotency_key": "k"}
        first, second = (page_of(alice).post("/posts", fields)["Location"] for _ in range(2))
        assert first == second
        assert Post.objects.count() == 1

    @pytest.mark.parametrize(
        "wrong",
        [{"body": "x" * 501}, {"visibility": "nobody"}, {"reply_to": "abc"}, {"content_warning": "w" * 201}],
    )  # fmt: skip
    def test_what_is_refused_stays_in_the_form(self, alice, page_of, wrong):
        fields = {"body": "My long text.", "visibility": "public", **wrong}
        response = page_of(alice).post("/posts", fields)
        assert response.status_code == 422
        assert fields["body"] in response.text
        assert not Post.objects.exists()

    def test_nothing_is_no_post(self, alice, page_of):
        response = page_of(alice).post("/posts", {"body": " \n ", "visibility": "public"})
        assert response.status_code == 422
        assert 'aria-invalid="true"' in response.text

    def test_a_text_survives_the_loss_of_what_it_answers(self, alice, bob, page_of):
        post = publish(bob)
        delete_post(post.pk, by=bob)
        fields = {"body": "My answer.", "visibility": "public", "reply_to": str(post.pk)}
        response = page_of(alice).post("/posts", fields)
        assert response.status_code == 404
        assert "My answer." in response.text

    def test_too_fast_keeps_the_text_too(self, alice, page_of, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (0, 60)}
        response = page_of(alice).post("/posts", {"body": "Again.", "visibility": "public"})
        assert response.status_code == 429
        assert "Again." in response.text
        assert int(response["Retry-After"]) > 0

    def test_a_nul_is_refused(self, alice, page_of):
        response = page_of(alice).post("/posts", {"body": "a\x00b", "visibility": "public"})
        assert response.status_code == 400

    def test_an_answer_names_whom_it_answers(self, alice, bob, page_of):
        post = publish(alice, visibility="followers")
        page = page_of(bob).get(f"/compose?reply_to={post.pk}").text
        assert "@alice </textarea>" in page
        assert '<option value="followers" selected>' in page
        assert f'name="reply_to" value="{post.pk}"' in page

    def test_a_quote_shows_what_it_quotes(self, alice, bob, page_of):
        post = publish(alice, "To be quoted.")
        browser = page_of(bob)
        assert "To be quoted." in browser.get(f"/compose?quote={post.pk}").text
        browser.post("/posts", {"body": "See:", "visibility": "public", "quote": str(post.pk)})
        assert Post.objects.get(author=bob).source_id == post.pk

    def test_compose_about_a_post_that_is_not_there(self, alice, page_of):
        assert page_of(alice).get("/compose?reply_to=1611384429953941521").status_code == 404
        assert page_of(alice).get("/compose?quote=abc").status_code == 400

    def test_edit(self, alice, page_of):
        post = publish(alice, "Befor.", content_warning="w")
        browser = page_of(alice)
        assert "Befor." in browser.get(f"/posts/{post.pk}/edit").text
        fields = {"body": "Before.", "content_warning": ""}
        response = browser.post(f"/posts/{post.pk}/edit", fields)
        assert (response.status_code, response["Location"]) == (303, f"/@alice/{post.pk}")
        page = browser.get(f"/@alice/{post.pk}").text
        assert "Before." in page
        assert "Edited" in page

    def test_edit_to_nothing(self, alice, page_of):
        post = publish(alice)
        assert page_of(alice).post(f"/posts/{post.pk}/edit", {"body": ""}).status_code == 422

    @pytest.mark.parametrize("method", ["get", "post"])
    @pytest.mark.parametrize("form", ["edit", "delete"])
    def test_posts_of_others_are_not_there(self, alice, bob, page_of, form, method):
        post = publish(alice)
        response = getattr(page_of(bob), method)(f"/posts/{post.pk}/{form}")
        assert response.status_code == 404
        assert Post.objects.filter(pk=post.pk, deleted_at=None, version=1).exists()

    def test_delete_asks_first(self, alice, page_of):
        post = publish(alice, "Gone soon.")
        browser = page_of(alice)
        assert "Gone soon." in browser.get(f"/posts/{post.pk}/delete?next=/@alice").text
        response = browser.post(f"/posts/{post.pk}/delete", {"next": "/@alice"})
        assert (response.status_code, response["Location"]) == (303, "/@alice")
        assert not _cards(browser.get("/@alice"))

    def test_a_script_asks_in_place_and_is_told_what_happened(self, alice, page_of):
        post, browser, htmx = publish(alice, "Gone soon."), page_of(alice), {"HX-Request": "true"}
        asked = browser.get(f"/posts/{post.pk}/delete?next=/@alice", headers=htmx).text
        assert "<html" not in asked
        assert 'id="question"' in asked
        answer = browser.post(f"/posts/{post.pk}/delete", {"next": "/@alice"}, headers=htmx)
        assert (answer.status_code, answer.text) == (200, "Deleted.")
        assert "Deleted." not in browser.get("/@alice").text  # it has been said

    def test_a_script_leaves_the_page_of_a_post_that_is_gone(self, alice, page_of):
        post, there = publish(alice), {"HX-Request": "true"}
        fields = {"next": f"/@alice/{post.pk}"}
        answer = page_of(alice).post(f"/posts/{post.pk}/delete", fields, headers=there)
        assert answer["HX-Redirect"] == "/"

    def test_after_delete_nobody_is_led_to_the_post(self, alice, page_of):
        post = publish(alice)
        response = page_of(alice).post(f"/posts/{post.pk}/delete", {"next": f"/@alice/{post.pk}"})
        assert response["Location"] == "/"


class TestCircles:
    @pytest.fixture
    def band(self, alice, bob):
        circle = create_group(Circle, alice, name="Band", is_shared=True)
        add_members(Circle, alice, circle.pk, [bob.pk])
        return circle

    def test_the_composer_offers_the_circles_one_may_post_to(
        self, alice, bob, carol, band, page_of
    ):
        create_group(Circle, bob, name="Mine")
        option = f'<option value="circle:{band.pk}">Circle: Band</option>'
        for address in ("/", "/compose"):
            assert option in page_of(alice).get(address).text
            page = page_of(bob).get(address).text
            assert page.index("Circle: Mine") < page.index(option)
            assert "circle:" not in page_of(carol).get(address).text
            assert '<option value="circle">' not in page

    def test_a_post_to_a_circle_says_so_to_those_in_it(self, alice, bob, carol, band, page_of):
        fields = {"body": "Hello.", "visibility": f"circle:{band.pk}", "next": "/"}
        response = page_of(bob).post("/posts", fields)
        post = Post.objects.get()
        assert (response.status_code, post.visibility, post.circle_id) == (303, "circle", band.pk)
        label = '<p class="answers" dir="auto">Circle: Band</p>'
        for reader in (alice, bob):
            assert label in page_of(reader).get("/").text
            page = page_of(reader).get(f"/@bob/{post.pk}").text
            assert "<span>Circle: Band</span>" in page
            assert 'content="noindex"' in page
        assert page_of(carol).get(f"/@bob/{post.pk}").status_code == 404
        assert "Band" not in page_of(carol).get("/@bob").text

    def test_in_chinese(self, alice, band, page_of):
        post = publish(alice, visibility="circle", circle_id=band.pk)
        browser = page_of(alice)
        browser.cookies["lang"] = "zh-hans"
        assert "圈子：Band" in browser.get(f"/@alice/{post.pk}").text

    def test_an_author_who_has_left_reads_no_name(self, alice, bob, band, page_of):
        post = publish(bob, visibility="circle", circle_id=band.pk)
        remove_members(Circle, alice, band.pk, [bob.pk])
        page = page_of(bob).get(f"/@bob/{post.pk}").text
        assert "<span>A circle</span>" in page
        assert "Band" not in page

    def test_an_answer_has_no_other_choice(self, alice, bob, page_of):
        family = create_group(Circle, alice, name="Family")
        add_members(Circle, alice, family.pk, [bob.pk])
        root = publish(alice, visibility="circle", circle_id=family.pk)
        browser = page_of(bob)
        page = browser.get(f"/compose?reply_to={root.pk}").text
        select = page.split('name="visibility"')[1].split("</select>")[0]
        assert re.findall(r'<option value="([^"]+)" selected', select) == [f"circle:{family.pk}"]
        assert select.count("<option") == 1
        fields = {"body": "Yes.", "visibility": f"circle:{family.pk}", "reply_to": str(root.pk)}
        assert browser.post("/posts", fields).status_code == 303
        assert Post.objects.get(author=bob).circle_id == family.pk

    @pytest.mark.parametrize(
        "choice", ["circle", "circle:", "circle:0", "circle:x", "circle:-1", "circle:٣"]
    )
    def test_what_is_no_circle(self, alice, band, page_of, choice):
        response = page_of(alice).post("/posts", {"body": "My text.", "visibility": choice})
        assert response.status_code == 422
        assert "My text." in response.text
        assert not Post.objects.exists()

    def test_a_circle_that_is_gone_keeps_the_text(self, alice, bob, band, page_of):
        remove_members(Circle, alice, band.pk, [bob.pk])
        fields = {"body": "My text.", "visibility": f"circle:{band.pk}"}
        response = page_of(bob).post("/posts", fields)
        assert response.status_code == 404
        assert "My text." in response.text
        assert str(Circle.error_messages["not_found"]) in response.text
        assert not Post.objects.exists()

    def test_it_cannot_be_reposted(self, alice, bob, band, page_of):
        post = publish(alice, visibility="circle", circle_id=band.pk)
        assert f"/posts/{post.pk}/repost" not in page_of(bob).get(f"/@alice/{post.pk}").text
        assert page_of(bob).post(f"/posts/{post.pk}/repost").status_code == 403


class TestActing:
    @pytest.mark.parametrize("verb", ["like", "repost", "bookmark"])
    def test_there_and_back(self, alice, bob, page_of, verb):
        post, browser = publish(alice), page_of(bob)
        for way, undo in (("", "un"), ("un", "")):
            response = browser.post(
                f"/posts/{post.pk}/{way}{verb}", {"next": "/@alice", "at": f"p{post.pk}"}
            )
            assert (response.status_code, response["Location"]) == (303, f"/@alice#p{post.pk}")
            assert f'action="/posts/{post.pk}/{undo}{verb}"' in browser.get("/@alice").text

    def test_for_htmx_only_the_row_comes_back(self, alice, bob, page_of):
        post = publish(alice)
        asked = {"next": "/public", "at": "p12345"}
        response = page_of(bob).post(f"/posts/{post.pk}/like", asked, headers=HTMX)
        assert response.text.strip().startswith('<div class="acts" id="a12345"')
        assert 'value="p12345"' in response.text
        assert 'aria-label="Like, 1 like"' in response.text
        assert "<article" not in response.text

    def test_a_repost_is_on_the_own_home_at_once(self, alice, carol, page_of):
        post, browser = publish(alice), page_of(carol)
        browser.get("/")
        browser.post(f"/posts/{post.pk}/repost")
        assert ">You</bdi></a> reposted" in browser.get("/").text

    def test_never_leads_to_another_site(self, alice, page_of):
        post = publish(alice)
        response = page_of(alice).post(f"/posts/{post.pk}/like", {"next": "https://evil.example/"})
        assert response["Location"] == f"/#p{post.pk}"

    @pytest.mark.parametrize("at", ["", "x", "p", "p1\r\nX: y", "p" + "1" * 20])
    def test_leads_to_no_odd_place_on_a_page(self, alice, page_of, at):
        asked = {"next": "/public", "at": at}
        response = page_of(alice).post(f"/posts/{publish(alice).pk}/like", asked)
        assert response["Location"] == "/public"

    def test_visitors_are_sent_to_the_login(self, alice):
        post = publish(alice)
        response = Client().post(f"/posts/{post.pk}/like", {"next": "/public"})
        assert (response.status_code, response["Location"]) == (303, "/login?next=%2Fpublic")

    def test_a_post_that_is_not_there(self, alice, page_of):
        assert page_of(alice).post("/posts/1611384429953941521/like").status_code == 404

    def test_a_forged_form_is_refused(self, alice):
        post = publish(alice)
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(alice)
        assert browser.post(f"/posts/{post.pk}/like").status_code == 403
