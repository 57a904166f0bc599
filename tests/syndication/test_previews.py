"""The drawn picture of a public post, for those who show links."""

from io import BytesIO
from pathlib import Path

import pytest
from django.test import Client
from PIL import Image

from apps.accounts.actions import update_profile
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.privacy.erasure import delete_account
from apps.syndication import preview_image
from apps.syndication.preview_image import Card, card_file, font_of, render, renderable, wrap
from feedcache.ids import compose
from tests.support.factories import PASSWORD, deliver, publish, suspend

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def kept(settings, tmp_path):
    """The folder of what was drawn."""
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "private": private}
    return tmp_path / "cards"


def files(kept):
    return sorted(path.name for path in Path(kept).rglob("*.png"))


def card_of(text="Hello.", **more):
    return Card(**{"handle": "alice", "name": "Alice Wen", "site": "Rill", "text": text, **more})


class TestPicture:
    def test_a_post_of_words_stands_for_itself(self, alice, page_of, settings):
        post = publish(alice, "A long way up the river.")
        address = f"/@alice/{post.pk}/card.png"
        page = page_of(None).get(f"/@alice/{post.pk}").text
        assert f'<meta property="og:image" content="{settings.SITE_URL}{address}">' in page
        answer = Client().get(address)
        assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
        with Image.open(BytesIO(answer.content)) as picture:
            assert picture.size == (1200, 630)

    def test_it_is_drawn_once_and_not_sent_again(self, alice, kept, monkeypatch):
        address = f"/@alice/{publish(alice).pk}/card.png"
        first = Client().get(address)
        monkeypatch.setattr(preview_image, "render", lambda _card: pytest.fail("drawn again"))
        assert Client().get(address).content == first.content
        known = Client().get(address, headers={"If-None-Match": first["ETag"]})
        assert (known.status_code, known.content) == (304, b"")
        assert len(files(kept)) == 1

    def test_another_text_is_another_picture(self, alice):
        post = publish(alice)
        address = f"/@alice/{post.pk}/card.png"
        first = Client().get(address)
        edit_post(alice, post.pk, body="Something else.")
        second = Client().get(address, headers={"If-None-Match": first["ETag"]})
        assert second.status_code == 200
        assert second.content != first.content

    def test_a_warning_is_all_that_is_shown_of_what_it_warns_of(self, alice):
        posts = [publish(alice, body, content_warning="Spiders") for body in ("One.", "Two.")]
        tags = {Client().get(f"/@alice/{post.pk}/card.png")["ETag"] for post in posts}
        assert len(tags) == 1

    @pytest.mark.parametrize("visibility", ["unlisted", "followers", "mentioned"])
    def test_only_public_posts_are_drawn(self, alice, bob, page_of, kept, visibility):
        post = publish(alice, "@bob hello", visibility=visibility)
        assert page_of(bob).get(f"/@alice/{post.pk}/card.png").status_code == 404
        assert "card.png" not in page_of(bob).get(f"/@alice/{post.pk}").text
        assert files(kept) == []

    def test_what_is_gone_is_gone_at_once_though_a_picture_of_it_is_kept(self, alice, bob):
        mine, theirs = publish(alice), publish(bob)
        addresses = [f"/@alice/{mine.pk}/card.png", f"/@bob/{theirs.pk}/card.png"]
        assert [Client().get(one).status_code for one in addresses] == [200, 200]
        delete_post(mine.pk, by=alice)
        suspend(bob)
        assert [Client().get(one).status_code for one in addresses] == [404, 404]

    def test_under_another_name_it_leads_to_its_own(self, alice, bob):
        post = publish(alice)
        answer = Client().get(f"/@bob/{post.pk}/card.png")
        assert answer["Location"] == f"/@alice/{post.pk}/card.png"

    def test_drawing_is_limited_and_looking_is_not(self, alice, settings):
        addresses = [f"/@alice/{publish(alice, text).pk}/card.png" for text in ("One.", "Two.")]
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "card": (1, 60)}
        assert Client().get(addresses[0]).status_code == 200
        refused = Client().get(addresses[1])
        assert refused.status_code == 429
        assert int(refused["Retry-After"]) > 0
        assert Client().get(addresses[0]).status_code == 200

    def test_one_is_drawn_at_a_time(self, alice, monkeypatch):
        monkeypatch.setattr(preview_image, "WAIT_SECONDS", 0.01)
        with preview_image._render_lock():
            answer = Client().get(f"/@alice/{publish(alice).pk}/card.png")
        assert answer.status_code == 503
        assert Client().get(f"/@alice/{publish(alice).pk}/card.png").status_code == 200

    @pytest.mark.slow
    def test_the_storage_is_bounded(self, kept, monkeypatch):
        monkeypatch.setattr(preview_image, "PLACES", 2)
        for number in range(8):
            post_id = compose(1_700_000_000, 1, number)
            nothing = {"before_drawing": lambda: None, "after_drawing": lambda: None}
            card_file(card_of(f"number {number}"), post_id, **nothing)
        assert 1 <= len(files(kept)) <= 2


class TestNothingIsLeft:
    """The picture shows the words of a post: it goes with them."""

    @pytest.fixture
    def posts(self, alice, bob, kept):
        one = two = publish(alice, "One.")
        while preview_image._folder(two.pk) == preview_image._folder(
            one.pk
        ):  # a place has room for one
            two = publish(alice, "Two.")
        made = [one, two, publish(bob, "Three.")]
        for post in made:
            assert Client().get(f"/@{post.author.handle}/{post.pk}/card.png").status_code == 200
        deliver()
        assert len(files(kept)) == 3
        return made

    def left(self, kept):
        deliver()
        return {int(name.partition("-")[0]) for name in files(kept)}

    def test_of_a_deleted_post(self, alice, posts, kept):
        delete_post(posts[0].pk, by=alice)
        assert self.left(kept) == {posts[1].pk, posts[2].pk}

    @pytest.mark.slow
    def test_of_an_edited_one(self, alice, posts, kept):
        edit_post(alice, posts[0].pk, body="Something else.")
        assert self.left(kept) == {posts[1].pk, posts[2].pk}

    @pytest.mark.slow
    def test_of_a_suspended_or_deleted_author(self, alice, bob, posts, kept):
        suspend(alice)
        assert self.left(kept) == {posts[2].pk}
        delete_account(bob, password=PASSWORD)
        assert self.left(kept) == set()

    @pytest.mark.slow
    def test_of_somebody_with_another_name(self, alice, posts, kept):
        update_profile(alice, display_name="Somebody else", bio="")
        assert self.left(kept) == {posts[2].pk}

    def test_of_what_was_deleted_while_it_was_drawn(self, alice, kept, monkeypatch):
        post, drawing = publish(alice, "One."), preview_image.render

        def slow(card):
            delete_post(post.pk, by=alice)
            deliver()
            return drawing(card)

        monkeypatch.setattr(preview_image, "render", slow)
        assert Client().get(f"/@alice/{post.pk}/card.png").status_code == 404
        assert files(kept) == []


class TestDrawing:
    @pytest.mark.long
    @pytest.mark.parametrize(
        "text",
        ["", "\n" * 600, "x" * 600, "山" * 600, "\u0000\u200d\ufe0f", "👩‍👩‍👧" * 100, "مرحبا " * 90,
         "e" + "\u0301" * 500, "a b " * 150, "\U0010fffd" * 9],
    )  # fmt: skip
    def test_any_text_gives_a_picture(self, text):
        with Image.open(BytesIO(render(card_of(text)))) as picture:
            assert picture.size == (1200, 630)

    @pytest.mark.parametrize("name", ["W" * 50, "👩‍👩‍👧", "\u202e"])
    def test_any_name_gives_a_picture(self, name):
        for text in ("", "x" * 600):
            with Image.open(BytesIO(render(card_of(text, name=name)))) as picture:
                assert picture.size == (1200, 630)

    def test_lines_are_no_wider_than_there_is_room(self):
        font = font_of(36)
        lines = wrap("A word and https://example.org/" + "a" * 200 + "\n\nmore", font, 500)
        assert all(font.getlength(line) <= 500 for line in lines)
        assert "".join(lines).replace(" ", "").endswith("more")

    def test_a_text_that_the_font_does_not_know_is_left_out(self):
        unknown = "\U00010450"  # a letter of an alphabet that few fonts know
        assert renderable(f"Hello {unknown}there") == "Hello there"
        assert renderable(unknown * 5 + " a") == ""

    def test_pillows_own_font_will_do(self, monkeypatch):
        for kept in (preview_image._face, font_of, preview_image.has_glyph):
            kept.cache_clear()
        monkeypatch.setattr(preview_image, "FONTS", ())
        try:
            assert renderable("Hello.") == "Hello."
            assert render(card_of())[:4] == b"\x89PNG"
        finally:
            for kept in (preview_image._face, font_of, preview_image.has_glyph):
                kept.cache_clear()
