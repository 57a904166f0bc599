"""A picture ends with its post, and while its owner is suspended, whoever knows its address."""

import secrets
from io import BytesIO

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client

from apps.accounts.models import User
from apps.graph.actions import follow_user
from apps.moderation.actions import restore_user
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment
from apps.privacy.erasure import delete_account
from tests.support.factories import PASSWORD, moderator, publish, suspend
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db

STATUSES = "/api/v1/statuses"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)
    return tmp_path


def upload(owner):
    return upload_picture(owner, BytesIO(picture()), alt="A wall.")


def path_of(url):
    return url.removeprefix("http://testserver")


def addresses(status):
    """Of the pictures of a status, large and small."""
    media = status["media_attachments"]
    return [path_of(one[name]) for one in media for name in ("url", "preview_url")]


def answers(some, client=None, **headers):
    """The status codes of addresses; whoever asks."""
    found = []
    for one in some:
        answer = (client or Client()).get(one, headers=headers)
        answer.getvalue()
        found.append(answer.status_code)
    return found


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*.webp")}


def posted(author, api_of, viewer, **draft):
    """A post with a picture, and the addresses of that as a viewer is told them."""
    post = publish(author, "Look.", media_ids=[upload(author).pk], **draft)
    found = addresses(api_of(viewer).get(f"{STATUSES}/{post.pk}").json())
    assert answers(found) == [200, 200]
    return post, found


@pytest.mark.parametrize("visibility", ["public", "followers"])
def test_the_api_s_deletion_ends_the_addresses(alice, bob, api_of, folder, visibility):
    """Though the pictures wait for another post: their owner, and nobody else, is told where."""
    post, known = posted(alice, api_of, bob, visibility=visibility)
    before = files(folder)
    deleted = api_of(alice).delete(f"{STATUSES}/{post.pk}").json()
    assert answers(known) == [404, 404]
    assert not files(folder) & before
    waiting = addresses(deleted)
    assert len(waiting) == 2
    assert not {one.partition("?")[0] for one in waiting} & {one.partition("?")[0] for one in known}
    assert answers(waiting) == [200, 200]
    assert answers(one.partition("?")[0] for one in waiting) == [404, 404]
    number = deleted["media_attachments"][0]["id"]
    assert api_of(bob).get(f"/api/v1/media/{number}").status_code == 404
    assert answers(
        addresses({"media_attachments": [api_of(alice).get(f"/api/v1/media/{number}").json()]})
    ) == [200, 200]
    body = {"status": "Anew.", "media_ids": [number], "visibility": "public"}
    again = api_of(alice).post(STATUSES, body, format="json").json()
    assert answers(addresses(again)) == [200, 200]
    assert all("/pictures/" in one for one in addresses(again))
    assert answers([*known, *waiting]) == [404] * 4


@pytest.mark.parametrize("visibility", ["public", "followers"])
@pytest.mark.parametrize("way", ["api", "page", "action"])
def test_other_deletions_end_them_too(alice, bob, api_of, page_of, folder, way, visibility):
    post, known = posted(alice, api_of, bob, visibility=visibility)
    if way == "api":
        deleted = api_of(alice).delete(f"{STATUSES}/{post.pk}?delete_media=true").json()
        assert deleted["media_attachments"] == []
    elif way == "page":
        assert page_of(alice).post(f"/posts/{post.pk}/delete").status_code == 303
    else:
        delete_post(post.pk, by=alice)
    assert answers(known) == [404, 404]
    assert not files(folder)
    assert not Attachment.objects.exists()


def test_staff_who_delete_learn_no_new_address(alice, carol, api_of):
    User.objects.filter(pk=carol.pk).update(is_staff=True, is_superuser=True)
    post, known = posted(alice, api_of, None)
    deleted = api_of(User.objects.get(pk=carol.pk)).delete(f"{STATUSES}/{post.pk}")
    assert deleted.status_code == 200
    assert deleted.json()["media_attachments"] == []
    assert answers(known) == [404, 404]


def test_a_picture_that_is_edited_away_ends_with_the_post(alice, bob, api_of):
    """Until then the history shows it, to who may see the post."""
    post, known = posted(alice, api_of, bob, visibility="followers")
    edit_post(alice, post.pk, body="Nothing.", media_ids=[])
    assert answers(known) == [200, 200]
    delete_post(post.pk, by=alice)
    assert answers(known) == [404, 404]
    assert not Attachment.objects.exists()


def test_a_suspension_takes_what_was_edited_away_too(alice, bob, api_of):
    post, known = posted(alice, api_of, bob)
    edit_post(alice, post.pk, body="Nothing.", media_ids=[])
    suspend(alice)
    assert answers(known) == [404, 404]


def test_a_suspension_takes_every_picture_away_and_the_end_brings_it_back(alice, bob, api_of):
    drawn = ContentFile(picture(), name=f"{secrets.token_hex(8)}.webp")
    alice.avatar.save("a.webp", drawn)
    alice.header.save("h.webp", drawn)
    known = [alice.avatar.url, alice.header.url]
    for visibility in ("public", "unlisted", "followers", "mentioned"):
        known += posted(alice, api_of, alice, visibility=visibility)[1]
    waiting = upload(alice)
    known += [waiting.file.url, waiting.preview.url]
    other = posted(bob, api_of, None)[1]
    assert set(answers(known)) == {200}
    suspend(alice)
    assert set(answers(known)) == {404}
    assert answers(other) == [200, 200]
    restore_user(alice, by=moderator(), reason="A test.")
    assert set(answers(known)) == {200}


def test_a_deleted_account_shows_nothing(alice, bob, api_of):
    known = posted(alice, api_of, bob)[1] + posted(alice, api_of, bob, visibility="followers")[1]
    waiting = upload(alice)
    known += [waiting.file.url]
    delete_account(alice, password=PASSWORD)
    assert set(answers(known)) == {404}


def test_files_that_several_posts_show_stay_while_one_does(alice, carol):
    """As those of the demo do: without an owner, in several rows."""
    posts = [publish(alice), publish(carol)]
    stored = upload(alice)
    for post in posts:
        Attachment.objects.create(
            post=post, file=stored.file.name, preview=stored.preview.name, width=60, height=40
        )
    stored.delete()
    known = [stored.file.url, stored.preview.url]
    delete_post(posts[0].pk, by=alice)
    assert answers(known) == [200, 200]
    delete_post(posts[1].pk, by=carol)
    assert answers(known) == [404, 404]


def test_shared_caches_ask_again_and_learn_that_it_is_gone(alice, bob, api_of):
    follow_user(bob, alice)
    post, [address, _small] = posted(alice, api_of, None)
    answer = Client().get(address)
    answer.getvalue()
    assert answer["Cache-Control"] == "public, max-age=31536000, s-maxage=60, immutable"
    assert answers([address], **{"If-None-Match": answer["ETag"]}) == [304]
    delete_post(post.pk, by=alice)
    assert answers([address], **{"If-None-Match": answer["ETag"]}) == [404]
    quiet = posted(alice, api_of, bob, visibility="followers")[1][0]
    answer = Client().get(quiet)
    answer.getvalue()
    assert answer["Cache-Control"].startswith("private, ")


@pytest.mark.long
@pytest.mark.gate
def test_a_file_costs_one_question_of_an_index(alice, api_of, django_assert_num_queries):
    address = posted(alice, api_of, None)[1][0]
    with django_assert_num_queries(1) as asked:
        answers([address])
    Attachment.objects.bulk_create(  # of a table this small every plan is as good
        Attachment(owner=alice, file=f"{n}.webp", preview=f"{n}s.webp", width=1, height=1)
        for n in range(2000)
    )
    with connection.cursor() as sql:
        sql.execute("ANALYZE posts_attachment")
        sql.execute(f"EXPLAIN {asked[0]['sql']}")
        plan = "\n".join(row[0] for row in sql.fetchall())
    assert "attachment_file" in plan
    assert "attachment_preview" in plan
