"""The pages of saved drafts, and posts that become drafts again."""

import html
import re
from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.errors import Invalid, NotFound
from apps.graph.groups.actions import create_group
from apps.graph.models import Circle
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment, Post, SavedDraft
from apps.posts.saved_drafts import MAX_BYTES, save_draft
from apps.timeline import publishing
from tests.support.factories import publish
from tests.support.pages import ERROR
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
SCRIPT = {"HX-Request": "true"}


def waiting(owner, alt=""):
    return upload_picture(owner, BytesIO(picture()), alt=alt)


def value(response, name):
    found = re.search(rf'name="{name}"[^>]*value="([^"]*)"', response.text)
    assert found, name
    return found[1]


class TestSaving:
    def test_the_form_comes_back_as_it_was(self, alice, page_of):
        photo, browser = waiting(alice), page_of(alice)
        sent = {
            "body": "Begun", "content_warning": "Careful", "visibility": "followers", "language": "de",
            "option_1": "Yes", "poll_hidden": "on", "media_ids": [photo.pk], f"alt_{photo.pk}": "A wall.",
        }  # fmt: skip
        answer = browser.post("/drafts", sent, headers=SCRIPT)
        row = SavedDraft.objects.get()
        assert (answer.status_code, answer.text) == (200, str(row.pk))
        assert "Begun" in browser.get("/drafts").text
        page = browser.get(f"/compose?saved={row.pk}")
        assert ">\nBegun</textarea>" in page.text
        assert value(page, "content_warning") == "Careful"
        assert value(page, "saved") == str(row.pk)
        assert value(page, "option_1") == "Yes"
        assert ">A wall.</textarea>" in page.text
        assert '<option value="followers" selected>' in page.text
        assert '<option value="de" selected>' in page.text

    def test_it_goes_when_it_is_published(self, alice, page_of):
        browser = page_of(alice)
        browser.post("/drafts", {"body": "Begun"}, headers=SCRIPT)
        row = SavedDraft.objects.get()
        refused = browser.post("/posts", {"body": "", "visibility": "public", "saved": row.pk})
        assert refused.status_code == 422
        assert value(refused, "saved") == str(row.pk)
        browser.post("/posts", {"body": "Done.", "visibility": "public", "saved": row.pk})
        assert Post.objects.get().body == "Done."
        assert not SavedDraft.objects.exists()

    def test_without_scripts_the_list_says_that_it_is_saved(self, alice, page_of):
        browser = page_of(alice)
        answer = browser.post("/drafts", {"body": "Begun"}, follow=True)
        assert answer.redirect_chain == [("/drafts", 303)]
        assert "Begun" in answer.text
        number = SavedDraft.objects.get().pk
        assert "Begun" not in browser.post(f"/drafts/{number}/delete", follow=True).text

    def test_without_scripts_a_refused_picture_is_reported(self, alice, page_of):
        wrong = SimpleUploadedFile("a.png", b"nothing", content_type="image/png")
        browser = page_of(alice)
        page = browser.post("/drafts", {"body": "Begun", "file_1": wrong}, follow=True).text
        assert "Begun" in page  # it is stored
        with pytest.raises(Invalid) as refused:
            upload_picture(alice, BytesIO(b"nothing"))
        assert refused.value.message in html.unescape(page)

    def test_a_script_gets_the_id_of_the_draft_even_then(self, alice, page_of):
        wrong = SimpleUploadedFile("a.png", b"nothing", content_type="image/png")
        answer = page_of(alice).post("/drafts", {"body": "Begun", "file_1": wrong}, headers=SCRIPT)
        assert answer.text == str(SavedDraft.objects.get().pk)

    def test_without_scripts_a_refused_draft_stays_in_the_composer(self, alice, page_of):
        photo = waiting(alice)
        text = "x" * MAX_BYTES
        sent = {"body": text, "visibility": "public", "media_ids": [photo.pk]}
        page = page_of(alice).post("/drafts", sent)
        assert page.status_code == 422
        assert ERROR in page.text
        assert f">\n{text}</textarea>" in page.text
        assert value(page, "media_ids") == str(photo.pk)

    def test_what_was_chosen_for_it_wins_over_the_settings(self, alice, page_of):
        alice.post_sensitive, alice.post_language = True, "de"
        alice.save()
        browser = page_of(alice)
        browser.post("/drafts", {"body": "Begun", "visibility": "public"}, headers=SCRIPT)
        page = browser.get(f"/compose?saved={SavedDraft.objects.get().pk}").text
        assert not re.search(r'name="sensitive"[^>]* checked', page)
        assert '<option value="de" selected>' not in page
        fresh = browser.get("/compose").text
        assert re.search(r'name="sensitive"[^>]* checked', fresh)
        assert '<option value="de" selected>' in fresh

    def test_the_circle_of_a_draft_may_be_gone(self, alice, page_of):
        circle, browser = create_group(Circle, alice, name="Tea"), page_of(alice)
        row = save_draft(alice, {"body": "Psst", "visibility": f"circle:{circle.pk}"}, [])
        assert (
            f'value="circle:{circle.pk}" selected' in browser.get(f"/compose?saved={row.pk}").text
        )
        row = save_draft(alice, {"body": "Psst", "visibility": f"circle:{circle.pk + 999}"}, [])
        page = browser.get(f"/compose?saved={row.pk}")
        assert '<option value="mentioned" selected>' in page.text

    def test_what_it_answers_may_be_gone(self, alice, bob, page_of):
        post, browser = publish(bob, "Ask me."), page_of(alice)
        row = save_draft(alice, {"body": "I ask", "reply_to": str(post.pk)}, [])
        assert "Ask me." in browser.get(f"/compose?saved={row.pk}").text
        publishing.delete(post.pk, by=bob)
        page = browser.get(f"/compose?saved={row.pk}")
        assert page.status_code == 200
        assert "This post will be published without it." in page.text

    @pytest.mark.parametrize("number", ["x", "0", "9" * 30, "12"])
    def test_no_such_draft(self, alice, bob, page_of, number):
        save_draft(bob, {"body": "Mine"}, [])
        assert page_of(alice).get(f"/compose?saved={number}").status_code == 404


class TestRedrafting:
    def test_all_that_it_said_is_in_the_composer(self, alice, bob, page_of):
        photo = waiting(alice, "A wall.")
        root = publish(bob, "Ask me.")
        post = publish(
            alice, "I ask.", media_ids=[photo.pk], content_warning="Careful", visibility="followers",
            reply_to_id=root.pk, sensitive=True, language="de",
        )  # fmt: skip
        browser = page_of(alice)
        assert "I ask." in browser.get(f"/posts/{post.pk}/redraft").text
        answer = browser.post(f"/posts/{post.pk}/redraft")
        row = SavedDraft.objects.get()
        assert answer["Location"] == f"/compose?saved={row.pk}"
        post.refresh_from_db()
        assert post.deleted_at is not None
        assert row.media_ids == [photo.pk]
        assert Attachment.objects.get().draft == row
        page = browser.get(answer["Location"])
        assert ">\nI ask.</textarea>" in page.text
        sent = {name: row.fields[name] for name in row.fields}
        browser.post(
            "/posts", {**sent, "pictures": "1", "media_ids": row.media_ids, "saved": row.pk}
        )
        again = Post.objects.get(deleted_at=None, author=alice)
        assert (again.body, again.content_warning, again.visibility, again.language) == (
            "I ask.", "Careful", "followers", "de",
        )  # fmt: skip
        assert (again.reply_to_id, again.sensitive) == (root.pk, True)
        assert [one.alt for one in again.attachments.all()] == ["A wall."]

    def test_who_may_quote_it_stays(self, alice, page_of):
        post, browser = publish(alice, "Mine.", quote_policy="nobody"), page_of(alice)
        page = browser.post(f"/posts/{post.pk}/redraft", follow=True)
        sent = {"body": "Mine.", "visibility": "public"}
        policy = {"quote_policy": value(page, "quote_policy")}
        browser.post("/posts", sent | policy)
        assert Post.objects.get(deleted_at=None).quote_policy == "nobody"
        assert browser.post("/posts", sent | {"quote_policy": "x"}).status_code == 422
        assert 'name="quote_policy"' not in browser.get("/compose").text

    def test_a_poll_begins_anew(self, alice, page_of):
        post = publish(alice, "Tea?", poll=PollDraft(["Yes", "No"], 3600, multiple=True))
        browser = page_of(alice)
        page = browser.post(f"/posts/{post.pk}/redraft", follow=True)
        assert [value(page, name) for name in ("option_1", "option_2", "option_3")[:2]] == [
            "Yes",
            "No",
        ]
        assert '<option value="3600" selected>' in page.text

    def test_nothing_is_lost_when_the_post_cannot_be_deleted(self, alice, page_of, monkeypatch):
        post = publish(alice, "Stay.")

        def fail(*_args, **_kwargs):
            raise NotFound("gone")

        monkeypatch.setattr(publishing, "delete", fail)
        assert page_of(alice).post(f"/posts/{post.pk}/redraft").status_code == 404
        post.refresh_from_db()
        assert post.deleted_at is None
        assert not SavedDraft.objects.exists()

    def test_only_ones_own(self, alice, bob, page_of):
        post = publish(bob, "Mine.")
        assert page_of(alice).post(f"/posts/{post.pk}/redraft").status_code == 404
        assert Post.objects.get().deleted_at is None
