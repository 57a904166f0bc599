"""Threads written in one go: in order, all of it or a clear account."""

from datetime import timedelta
from io import BytesIO

import pytest
from django.utils import timezone

from apps.errors import TooMany
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment, Post, SavedDraft, ScheduledPost
from apps.timeline import publishing
from tests.support.pages import ERROR
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"


def form(*more, **fields):
    return {
        "body": "One.",
        "visibility": "unlisted",
        "more": more,
        "idempotency_key": KEY,
        **fields,
    }


def bodies():
    return [post.body for post in Post.objects.order_by("pk")]


def test_posts_answer_one_another_in_order(alice, page_of):
    answer = page_of(alice).post("/posts", form("Two.", " ", "Three.", content_warning="Careful"))
    one, two, three = Post.objects.order_by("pk")
    assert answer["Location"] == f"/@alice/{one.pk}"
    assert bodies() == ["One.", "Two.", "Three."]
    assert [one.reply_to_id, two.reply_to_id, three.reply_to_id] == [None, one.pk, two.pk]
    labels = {(post.visibility, post.content_warning) for post in (one, two, three)}
    assert labels == {("unlisted", "Careful")}


def test_another_box_without_scripts(alice, page_of):
    page = page_of(alice).post("/posts", form("Two.", add_another="1"))
    assert page.status_code == 200
    assert page.text.count('<textarea name="more"') == 3  # one is the pattern for scripts
    assert "Two.</textarea>" in page.text
    assert not Post.objects.exists()


def test_nothing_is_published_when_one_of_them_cannot_be(alice, page_of):
    page = page_of(alice).post("/posts", form("Two.", "x" * 501))
    assert page.status_code == 422
    assert "Post 3: At most 500 characters." in page.text
    assert "Two.</textarea>" in page.text
    assert not Post.objects.exists()


def test_what_was_interrupted_says_so_and_keeps_the_rest(alice, page_of, monkeypatch):
    publish = publishing.publish

    def limited(author, draft, **kwargs):
        if draft.body == "Two.":
            raise TooMany(retry_after=40)
        return publish(author, draft, **kwargs)

    browser = page_of(alice)
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "publish", limited)
        page = browser.post("/posts", form("Two.", "Three."))
    assert page.status_code == 429
    assert ERROR in page.text
    assert (
        "1 post has been published; the rest is still here: Too many requests. Try again in 40 seconds."
        in page.text
    )
    assert bodies() == ["One."]
    one = Post.objects.get()
    assert f'name="reply_to" value="{one.pk}"' in page.text
    assert ">\nTwo.</textarea>" in page.text
    assert "Three.</textarea>" in page.text
    rest = form("Three.", body="Two.", reply_to=one.pk, idempotency_key=f"{KEY}x")
    browser.post("/posts", rest)
    assert bodies() == ["One.", "Two.", "Three."]
    assert [post.reply_to_id for post in Post.objects.order_by("pk")][1] == one.pk


def test_a_thread_that_is_sent_twice_is_there_once(alice, page_of):
    browser = page_of(alice)
    locations = {browser.post("/posts", form("Two.", "Three."))["Location"] for _time in range(2)}
    assert len(locations) == 1
    assert bodies() == ["One.", "Two.", "Three."]


def test_sent_again_it_goes_on_where_the_server_died(alice, page_of):
    browser = page_of(alice)
    browser.post("/posts", form())
    browser.post("/posts", form("Two."))
    assert bodies() == ["One.", "Two."]


def test_no_thread_is_published_later(alice, page_of):
    at = timezone.now() + timedelta(days=1)
    page = page_of(alice).post("/posts", form("Two.", scheduled_at=f"{at:%Y-%m-%dT%H:%M}"))
    assert page.status_code == 422
    assert "A thread can&#x27;t be scheduled." in page.text
    assert not Post.objects.exists()
    assert not ScheduledPost.objects.exists()


def test_ten_at_most(alice, page_of):
    page_of(alice).post("/posts", form(*(str(number) for number in range(20))))
    assert Post.objects.count() == 10


# --- pictures of the further posts ---


def uploads(owner, number):
    return [upload_picture(owner, BytesIO(picture()), alt="A heron.").pk for _one in range(number)]


def pictures_of(posts):
    return [
        list(Attachment.objects.filter(post=post).values_list("pk", flat=True)) for post in posts
    ]


def test_each_post_of_a_thread_has_its_own_pictures(alice, page_of):
    one, two, three, four = uploads(alice, 4)
    more = form("Two.", "", "", media_ids=[one], more_media=["", f"{two} {three}", f"{four} "])
    browser = page_of(alice)
    for _sent_twice in range(2):
        browser.post("/posts", {**more, "sensitive": "on"})
    posts = Post.objects.order_by("pk")
    assert [post.body for post in posts] == ["One.", "Two.", "", ""]
    assert pictures_of(posts) == [[one], [], [two, three], [four]]
    assert [post.sensitive for post in posts] == [True, False, True, True]


def test_descriptions_of_further_pictures_are_stored(alice, page_of):
    [two] = uploads(alice, 1)
    page_of(alice).post("/posts", form("", more_media=[two], **{f"alt_{two}": "Two herons."}))
    assert Attachment.objects.get().alt == "Two herons."


@pytest.mark.parametrize("wrong", ["somebody else's", "twice", "five", "gone"])
def test_nothing_is_published_when_a_further_picture_cannot_be(wrong, alice, bob, page_of):
    one, *some = uploads(alice, 6)
    media = {
        "somebody else's": uploads(bob, 1),
        "twice": some[:1],
        "five": some,
        "gone": [some[0] + 99],
    }
    more_media = [" ".join(map(str, media[wrong])), *media["twice"][wrong != "twice" :]]
    more = form("Two.", "Three.", media_ids=[one], more_media=more_media)
    page = page_of(alice).post("/posts", more)
    assert page.status_code == 422
    assert f"Post {3 if wrong == 'twice' else 2}: " in page.text
    assert not Post.objects.exists()


def test_further_pictures_stay_with_their_posts_after_an_error(alice, page_of):
    one, two = uploads(alice, 2)
    more = form("x" * 501, "", media_ids=[one], more_media=["", str(two)])
    page = page_of(alice).post("/posts", more).text
    assert f'name="more_media" value="{two} "' in page
    assert page.count(f'name="media_ids" value="{one}"') == 1
    assert f'name="media_ids" value="{two}"' not in page
    assert f'data-picture="{two}"' in page


def test_a_draft_keeps_which_post_a_picture_belongs_to(alice, page_of):
    one, two = uploads(alice, 2)
    browser = page_of(alice)
    browser.post("/drafts", form("Two.", media_ids=[one], more_media=str(two)))
    draft = SavedDraft.objects.get()
    assert draft.media_ids == [one, two]
    page = browser.get(f"/compose?saved={draft.pk}").text
    assert f'name="more_media" value="{two} "' in page
    assert f'name="media_ids" value="{two}"' not in page
    assert f'name="media_ids" value="{one}"' in page


def test_interrupted_the_rest_keeps_its_pictures(alice, page_of, monkeypatch):
    two, three = uploads(alice, 2)
    publish = publishing.publish

    def limited(author, draft, **kwargs):
        if draft.body == "Two.":
            raise TooMany("Too many requests.", retry_after=40)
        return publish(author, draft, **kwargs)

    monkeypatch.setattr(publishing, "publish", limited)
    page = (
        page_of(alice)
        .post("/posts", form("Two.", "Three.", more_media=[str(two), str(three)]))
        .text
    )
    assert f'name="media_ids" value="{two}"' in page
    assert f'name="more_media" value="{three} "' in page
