"""The composer: pictures, polls and times in one form, sent once or twice."""

import re
from datetime import timedelta
from io import BytesIO
from unittest.mock import ANY

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from apps.graph.groups.actions import create_group
from apps.graph.models import Circle
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import delete_post
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture, withdraw_picture
from apps.posts.models import Attachment, Post, ScheduledPost
from tests.support.factories import deliver, publish
from tests.support.pages import EMPTY, ERROR
from tests.support.pictures import picture

pytestmark = pytest.mark.usefixtures("media")

KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"


def file(name="a.png", **more):
    return SimpleUploadedFile(name, picture(**more), content_type="image/png")


def form(**more):
    return {"body": "Look.", "visibility": "public", "pictures": "1", **more}


def ids_in(response):
    return [int(number) for number in re.findall(r'name="media_ids" value="(\d+)"', response.text)]


def waiting(owner, alt=""):
    return upload_picture(owner, BytesIO(picture()), alt=alt)


class TestPictures:
    def test_one_form_brings_text_pictures_and_descriptions(self, alice, page_of):
        fields = form(
            file_1=file(), file_1_alt=" A red wall. ", file_3=file(), file_3_alt="Another."
        )
        response = page_of(alice).post("/posts", fields)
        post = Post.objects.get()
        assert (response.status_code, response["Location"]) == (303, f"/@alice/{post.pk}")
        rows = post.attachments.order_by("position").values_list("alt", flat=True)
        assert list(rows) == ["A red wall.", "Another."]
        assert post.kind == "picture"

    def test_a_form_that_is_sent_twice_makes_one_post(self, alice, page_of):
        browser = page_of(alice)
        answers = [
            browser.post("/posts", form(idempotency_key=KEY, file_1=file(), file_1_alt="A wall."))
            for _time in range(2)
        ]
        assert answers[0]["Location"] == answers[1]["Location"]
        assert Post.objects.count() == Attachment.objects.count() == 1

    @pytest.mark.parametrize(
        "change", [{"body": "Other."}, {"file_1_alt": "Other."}, {"file_1": (70, 40)}]
    )
    def test_the_same_key_with_something_else_keeps_it_in_the_form(self, alice, page_of, change):
        browser = page_of(alice)
        sent = {"idempotency_key": KEY, "file_1_alt": "A wall."}
        browser.post("/posts", form(**sent, file_1=file()))
        size = change.pop("file_1", (60, 40))
        response = browser.post("/posts", form(**{**sent, **change, "file_1": file(size=size)}))
        assert response.status_code == 422
        assert len(ids_in(response)) == 1
        assert KEY not in response.text
        assert Post.objects.count() == 1

    def test_pictures_are_kept_when_the_text_is_refused(self, alice, page_of):
        browser = page_of(alice)
        refused = browser.post("/posts", form(body="x" * 501, file_1=file(), file_1_alt="A wall."))
        assert refused.status_code == 422
        (number,) = ids_in(refused)
        assert ">A wall.</textarea>" in refused.text
        sent = form(media_ids=[number], **{f"alt_{number}": "A wall.", f"focus_{number}": "0,1"})
        assert browser.post("/posts", sent).status_code == 303
        row = Attachment.objects.get()
        assert (row.post, row.alt, row.focus_x, row.focus_y) == (
            Post.objects.get(),
            "A wall.",
            0,
            1,
        )

    def test_a_picture_is_taken_out(self, alice, page_of):
        one, two = waiting(alice, "One."), waiting(alice, "Two.")
        response = page_of(alice).post("/posts", form(media_ids=[one.pk, two.pk], take_out=one.pk))
        assert response.status_code == 200
        assert ids_in(response) == [two.pk]
        assert "Look." in response.text
        assert not Attachment.objects.filter(pk=one.pk).exists()

    def test_a_picture_that_is_gone_is_taken_out_all_the_same(self, alice, page_of):
        one, two = waiting(alice, "One."), waiting(alice, "Two.")
        withdraw_picture(alice, one.pk)
        response = page_of(alice).post("/posts", form(media_ids=[one.pk, two.pk], take_out=one.pk))
        assert response.status_code == 200
        assert ids_in(response) == [two.pk]
        assert "Look." in response.text

    def test_a_post_does_not_go_out_without_a_picture_that_is_gone(self, alice, page_of):
        one, two, browser = waiting(alice, "One."), waiting(alice, "Two."), page_of(alice)
        withdraw_picture(alice, one.pk)
        refused = browser.post("/posts", form(media_ids=[one.pk, two.pk]))
        assert refused.status_code == 422
        assert ERROR in refused.text
        assert not Post.objects.exists()
        browser.post("/posts", form(media_ids=ids_in(refused)))  # now its author knows
        assert Post.objects.get().attachments.get() == two

    def test_an_edit_says_that_a_new_picture_is_gone(self, alice, page_of):
        post, one = publish(alice, "Before."), waiting(alice, "One.")
        withdraw_picture(alice, one.pk)
        refused = page_of(alice).post(f"/posts/{post.pk}/edit", form(media_ids=[one.pk]))
        assert refused.status_code == 422
        post.refresh_from_db()
        assert post.body == "Before."

    def test_what_is_no_picture_says_so_and_keeps_the_rest(self, alice, page_of):
        wrong = SimpleUploadedFile("a.png", b"nothing", content_type="image/png")
        response = page_of(alice).post("/posts", form(file_1=file(), file_2=wrong))
        assert response.status_code == 422
        assert ERROR in response.text
        assert len(ids_in(response)) == 1
        assert not Post.objects.exists()

    def test_pictures_of_others_are_not_taken(self, alice, bob, page_of):
        theirs = waiting(bob, "Mine.")
        response = page_of(alice).post(
            "/posts", form(media_ids=[theirs.pk], **{f"alt_{theirs.pk}": "Stolen."})
        )
        theirs.refresh_from_db()
        assert (theirs.post, theirs.alt) == (None, "Mine.")
        assert ids_in(response) == []

    def test_a_focus_outside_the_picture(self, alice, page_of):
        one, browser = waiting(alice, "One."), page_of(alice)
        for focus in ("2,0", "nan,0", "x", "", "1", "1,2,3", "0,1e9"):
            sent = form(media_ids=[one.pk], **{f"focus_{one.pk}": focus})
            assert browser.post("/posts", sent).status_code == 422, focus
        assert not Post.objects.exists()

    def test_numbers_that_are_none_name_nothing(self, alice, page_of):
        fields = form(media_ids=["x", "-1", "0", "9" * 30, "٣"], take_out="x")
        assert page_of(alice).post("/posts", fields).status_code == 200

    def test_too_many(self, alice, page_of):
        numbers = [waiting(alice, "One.").pk for _number in range(5)]
        response = page_of(alice).post("/posts", form(media_ids=numbers))
        assert response.status_code == 422
        assert "At most 4 pictures." in response.text


class TestTheNudge:
    def test_missing_descriptions_are_asked_for_once(self, alice, page_of):
        browser = page_of(alice)
        asked = browser.post("/posts", form(file_1=file()))
        assert asked.status_code == 422
        assert "1 picture has no description." in asked.text
        assert not Post.objects.exists()
        sent = form(media_ids=ids_in(asked), without_alt="1")
        assert browser.post("/posts", sent).status_code == 303
        assert Post.objects.get().attachments.get().alt == ""

    def test_who_does_not_want_it_is_not_asked(self, alice, page_of):
        alice.asks_for_alt = False
        alice.save()
        assert page_of(alice).post("/posts", form(file_1=file())).status_code == 303


class TestUploading:
    def test_a_picture_beforehand(self, alice, page_of):
        browser = page_of(alice)
        fragment = browser.post("/pictures", {"file": file()})
        assert fragment.status_code == 200
        (number,) = ids_in(fragment)
        assert Attachment.objects.get().pk == number
        assert f'name="alt_{number}"' in fragment.text
        assert browser.get(f"/pictures/{number}").text == fragment.text

    def test_a_refusal_is_plain_text(self, alice, page_of):
        wrong = SimpleUploadedFile("a.png", b"<script>", content_type="image/png")
        response = page_of(alice).post("/pictures", {"file": wrong})
        assert response.status_code == 422
        assert response["Content-Type"].startswith("text/plain")

    def test_too_many_at_a_time(self, alice, page_of, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "upload": (0, 60)}
        response = page_of(alice).post("/pictures", {"file": file()})
        assert response.status_code == 429
        assert int(response["Retry-After"]) > 0

    def test_without_a_file(self, alice, page_of):
        assert page_of(alice).post("/pictures", {"file": "x"}).status_code == 404

    def test_nobody_sees_what_waits_for_others(self, alice, bob, page_of):
        one = waiting(bob)
        assert page_of(alice).get(f"/pictures/{one.pk}").status_code == 404
        assert page_of(alice).get(f"/pictures/{2**62}").status_code == 404
        published = publish(bob, media_ids=[one.pk])
        assert published.attachments.exists()
        assert page_of(bob).get(f"/pictures/{one.pk}").status_code == 404

    def test_visitors_are_sent_to_the_login(self, db, client):
        assert client.post("/pictures", {"file": file()}).status_code == 303
        assert not Attachment.objects.exists()


class TestPolls:
    def test_a_poll(self, alice, page_of):
        fields = form(option_1="Tea", option_2=" ", option_3="Coffee", poll_seconds="300")
        assert page_of(alice).post("/posts", fields).status_code == 303
        poll = Post.objects.get().poll
        assert poll.options == ["Tea", "Coffee"]
        assert not poll.multiple
        assert poll.expires_at - timezone.now() < timedelta(minutes=5)

    @pytest.mark.parametrize("said", [{"option_1": "Tea"}, {"option_1": "Tea", "option_2": "Tea"}])
    def test_a_refused_poll_stays_in_the_form(self, alice, page_of, said):
        response = page_of(alice).post("/posts", form(**said))
        assert response.status_code == 422
        assert ERROR in response.text
        assert 'value="Tea"' in response.text

    def test_a_time_that_is_none(self, alice, page_of):
        fields = form(option_1="Tea", option_2="Coffee", poll_seconds="7")
        assert page_of(alice).post("/posts", fields).status_code == 422


class TestLater:
    def test_a_time_on_the_authors_clock(self, alice, page_of):
        at = (timezone.now() + timedelta(days=2)).replace(second=0, microsecond=0)
        local = at + timedelta(hours=8)
        fields = form(scheduled_at=f"{local:%Y-%m-%dT%H:%M}", utc_offset="-480", file_1=file(), file_1_alt="A wall.",
                      idempotency_key=KEY)  # fmt: skip
        browser = page_of(alice)
        assert browser.post("/posts", fields)["Location"] == "/scheduled"
        fields["file_1"] = file()
        assert browser.post("/posts", fields)["Location"] == "/scheduled"
        row = ScheduledPost.objects.get()
        assert row.scheduled_at == at
        assert row.attachments.get().alt == "A wall."
        assert "Look." in browser.get("/scheduled").text

    @pytest.mark.parametrize(
        "at", ["2020-01-01T00:00", "x", "9999-12-31T23:59", "0001-01-01T00:00"]
    )
    def test_a_time_that_will_not_do(self, alice, page_of, at):
        for offset in ("840", "-840"):
            response = page_of(alice).post("/posts", form(scheduled_at=at, utc_offset=offset))
            assert response.status_code == 422
            assert "Look." in response.text
        assert not ScheduledPost.objects.exists()

    def test_moved_and_taken_back(self, alice, bob, page_of):
        at = (timezone.now() + timedelta(days=1)).replace(second=0, microsecond=0)
        row = schedule_post(alice, Draft(body="Later."), at)
        there, later = f"/scheduled/{row.pk}", at + timedelta(hours=1)
        said = {"scheduled_at": f"{later:%Y-%m-%dT%H:%M}"}
        assert page_of(bob).post(f"{there}/move", said).status_code == 404
        assert page_of(bob).post(f"{there}/cancel").status_code == 404
        browser = page_of(alice)
        assert browser.post(f"{there}/move", said).status_code == 303
        row.refresh_from_db()
        assert row.scheduled_at == later
        for wrong in ("2020-01-01T00:00", "x", "9999-12-31T23:59"):
            fields = {"scheduled_at": wrong, "utc_offset": "840"}
            browser.post(f"{there}/move", fields)
            assert 'class="toast"' in browser.get("/scheduled").text
        assert browser.post(f"{there}/cancel").status_code == 303
        assert not ScheduledPost.objects.exists()
        assert EMPTY in browser.get("/scheduled").text


class TestEditing:
    def test_pictures_are_described_taken_out_and_added(self, alice, page_of):
        post = publish(alice, media_ids=[waiting(alice, "One.").pk, waiting(alice, "Two.").pk])
        browser = page_of(alice)
        one, two = ids_in(browser.get(f"/posts/{post.pk}/edit"))
        fields = form(media_ids=[two], file_1=file(), file_1_alt="New.", **{f"alt_{two}": "Second."})  # fmt: skip
        assert browser.post(f"/posts/{post.pk}/edit", fields).status_code == 303
        rows = post.attachments.order_by("position")
        assert [row.alt for row in rows] == ["Second.", "New."]
        assert [row.pk for row in rows] == [two, ANY]
        assert one not in [row.pk for row in rows]

    def test_what_is_covered_stays_covered_however_many_there_are(self, alice, page_of):
        numbers = [waiting(alice, "One.").pk for _number in range(4)]
        post = publish(alice, media_ids=numbers, sensitive=True)
        page = page_of(alice).get(f"/posts/{post.pk}/edit").text
        assert re.search(r'name="sensitive"[^>]* checked', page)
        fields = form(media_ids=numbers, sensitive="on")
        page_of(alice).post(f"/posts/{post.pk}/edit", fields)
        post.refresh_from_db()
        assert post.sensitive

    def test_a_form_that_says_nothing_of_pictures_leaves_them(self, alice, page_of):
        post = publish(alice, media_ids=[waiting(alice, "One.").pk])
        page_of(alice).post(f"/posts/{post.pk}/edit", {"body": "Other."})
        assert post.attachments.count() == 1

    @pytest.mark.parametrize("said", [{"alt": "x" * 10_001}, {"focus": "7,7"}])
    def test_what_is_refused_of_a_picture_changes_nothing(self, alice, page_of, said):
        one = waiting(alice, "One.")
        post = publish(alice, "Before.", media_ids=[one.pk])
        more = {f"{name}_{one.pk}": value for name, value in said.items()}
        response = page_of(alice).post(f"/posts/{post.pk}/edit", form(media_ids=[one.pk], **more))
        assert response.status_code == 422
        one.refresh_from_db()
        assert (one.alt, one.focus_x) == ("One.", 0)


class TestInline:
    def test_a_reply_below_the_post(self, alice, bob, page_of):
        post, browser = publish(alice), page_of(bob)
        headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/public#p1"}
        fragment = browser.get(f"/compose?reply_to={post.pk}", headers=headers)
        assert "<html" not in fragment.text
        assert f'id="reply{post.pk}_body"' in fragment.text
        fields = form(body="@alice Yes.", reply_to=post.pk, draft=f"reply:{post.pk}")
        refused = browser.post("/posts", {**fields, "body": ""}, headers=headers)
        assert refused.status_code == 422
        assert f'id="reply{post.pk}_body"' in refused.text
        card = browser.post("/posts", fields, headers=headers)
        made = Post.objects.get(author=bob)
        assert card.status_code == 200
        assert f'id="p{made.pk}"' in card.text
        assert f'formaction="/posts/{made.pk}/like"' in card.text
        assert card["HX-Retarget"] == "closest .post"
        assert f'"draft": "reply:{post.pk}"' in card["HX-Trigger-After-Settle"]

    def test_a_refusal_takes_the_place_of_the_form(self, alice, bob, page_of):
        post, headers = publish(alice), {"HX-Request": "true"}
        delete_post(post.pk, by=alice)
        fields = form(body="@alice Yes.", reply_to=post.pk)
        refused = page_of(bob).post("/posts", fields, headers=headers)
        assert refused.status_code == 422
        assert ERROR in refused.text
        assert "@alice Yes." in refused.text

    def test_a_reply_for_later_leads_to_what_waits(self, alice, bob, page_of):
        at = timezone.now() + timedelta(days=1)
        fields = form(reply_to=publish(alice).pk, scheduled_at=f"{at:%Y-%m-%dT%H:%M}")
        answer = page_of(bob).post("/posts", fields, headers={"HX-Request": "true"})
        assert answer["HX-Redirect"] == "/scheduled"
        assert ScheduledPost.objects.get().author == bob

    def test_a_post_to_somebody(self, alice, page_of):
        assert "@bob </textarea>" in page_of(alice).get("/compose?to=bob").text


class TestAtHome:
    """The composer above the home timeline, sent by a script: what comes back is put into the page."""

    HEADERS = {
        "HX-Request": "true",
        "HX-Target": "composer",
        "HX-Current-URL": "http://testserver/",
    }

    def test_the_new_post_comes_with_an_empty_composer(self, alice, page_of):
        publish(alice, "There before.")
        browser = page_of(alice)
        assert 'id="composer" hx-post="/posts"' in browser.get("/").text
        answer = browser.post("/posts", form(draft="new"), headers=self.HEADERS)
        made = Post.objects.latest("pk")
        assert answer.status_code == 200
        assert (answer["HX-Retarget"], answer["HX-Reswap"]) == ("#feed", "afterbegin")
        assert '"draft": "new"' in answer["HX-Trigger"]
        card, composer = answer.text.split('<form class="composer', 1)
        assert f'id="p{made.pk}"' in card
        assert f'formaction="/posts/{made.pk}/like"' in card
        assert 'id="composer"' in composer
        assert 'hx-swap-oob="true"' in composer
        assert "Look." not in composer

    @pytest.mark.parametrize(
        ("body", "alone"),
        [("To @nobody_here.", True), ("I, @alice.", True), ("To @bob.", False)],
    )
    def test_a_message_that_names_nobody_says_so(self, alice, bob, page_of, body, alone):
        """It is a note to oneself, as for Mastodon's clients; or a slip, which is to be seen at once."""
        browser, words = page_of(alice), "It mentions nobody, so nobody else can read it."
        fields = form(body=body, visibility="mentioned")
        answer = browser.post("/posts", fields, headers=self.HEADERS)
        assert (words in answer["HX-Trigger"]) == alone
        page = browser.post("/posts", fields, follow=True).text
        assert (f"Posted. {words}" in page) == alone
        assert words not in browser.post("/posts", form(), headers=self.HEADERS)["HX-Trigger"]

    def test_what_was_refused_takes_the_place_of_the_form(self, alice, page_of):
        refused = page_of(alice).post("/posts", form(body=" "), headers=self.HEADERS)
        assert refused.status_code == 422
        assert 'id="composer_body"' in refused.text
        assert "hx-swap-oob" not in refused.text
        assert ERROR in refused.text
        assert not Post.objects.exists()

    def test_without_a_feed_and_further_down_the_page_is_loaded_anew(self, alice, page_of):
        browser = page_of(alice)
        assert 'id="composer"' not in browser.get("/").text
        post = publish(alice, "There before.")
        assert 'id="composer"' not in browser.get(f"/?max_id={post.pk + 1}").text

    def test_ones_own_post_is_no_news(self, alice, page_of):
        old, browser = publish(alice), page_of(alice)
        publish(alice, "Mine.")
        deliver()
        news = browser.get(f"/home/new?last_id={old.pk}", headers={"HX-Request": "true"})
        assert news.status_code == 204


class TestShared:
    """What another program of a device hands over."""

    @pytest.mark.parametrize(
        ("asked", "body"),
        [
            ({"title": "A page", "url": "https://example.org/a"}, "A page\nhttps://example.org/a"),
            ({"text": "See https://example.org", "url": "https://example.org"}, "See https://example.org"),
            ({"title": "Tea", "text": "Tea is good", "url": ""}, "Tea is good"),
            ({"text": "<script>"}, "&lt;script&gt;"),
            ({"text": "x" * 2000}, "x" * 2000),
            ({"to": "bob", "text": "no"}, "@bob "),
        ],
    )  # fmt: skip
    def test_it_stands_in_the_composer(self, alice, page_of, asked, body):
        page = page_of(alice).get("/compose", asked).text
        field = page.split('<textarea name="body"')[1].split(">", 1)[1].split("</textarea>")[0]
        assert field.strip("\r\n").replace("&#x27;", "'") == body

    def test_the_manifest_says_so(self, client, db):
        target = client.get("/manifest.webmanifest").json()["share_target"]
        assert (target["action"], target["method"]) == ("/compose", "GET")
        assert set(target["params"]) == {"title", "text", "url"}


def test_the_composer_of_the_home_page_is_its_authors_own(alice, bob, page_of):
    create_group(Circle, alice, name="Kin <b>")
    bob.post_language, bob.post_visibility = "zh", "followers"
    bob.save()
    own, others = page_of(alice).get("/").text, page_of(bob).get("/").text
    assert "Kin &lt;b&gt;" in own
    assert "Kin" not in others
    for chosen in ('<option value="zh" selected>', '<option value="followers" selected>'):
        assert chosen in others
        assert chosen not in own
    keys = re.findall(r'name="idempotency_key" value="([^"]+)"', own + others)
    assert len(set(keys)) == 2


def test_the_sign_of_the_audience_is_the_chosen_ones(alice, page_of):
    """The style sheet shows the one of the option that is chosen: none stands on a post for fewer people."""
    page = page_of(alice).get("/compose").text
    label = page[page.index('class="tool pick audience"') :].partition("</label>")[0]
    signs = set(re.findall(r'class="i (of-\w+)"', label))
    assert signs == {"of-public", "of-followers", "of-some", "of-mentioned"}
    rules = (settings.BASE_DIR / "static/css/composer.css").read_text()
    for value in re.findall(r'<option value="([\w:]+)"', label):
        assert f"[value={value}]:checked" in rules or value.startswith("circle:"), value
    for sign in signs:
        assert re.search(rf"\.{sign}(,\s[^{{}}]*)? {{ display: none; }}", rules)
