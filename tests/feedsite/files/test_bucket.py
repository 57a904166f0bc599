"""Files in a bucket: everything that is uploaded, shown, kept and deleted, by the protocol of S3 over HTTP."""

from io import BytesIO

import boto3
import pytest
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from apps.accounts.models import User
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment
from apps.privacy.export import request_export, run_due
from feedsite.files.storage import storages_of
from tests.support.cases import each
from tests.support.factories import publish
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
BUCKET = "ours"


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def bucket(endpoint, settings, monkeypatch, tmp_path):
    """An empty bucket, which the site is told of by its settings."""
    for name, value in (("AWS_ACCESS_KEY_ID", "us"), ("AWS_SECRET_ACCESS_KEY", "secret"),
                        ("AWS_DEFAULT_REGION", "us-east-1")):  # fmt: skip
        monkeypatch.setenv(name, value)
    made = boto3.resource("s3", endpoint_url=endpoint).create_bucket(Bucket=BUCKET)
    made.objects.all().delete()
    built = storages_of(private=tmp_path, bucket=BUCKET, endpoint=endpoint)
    settings.STORAGES = {**settings.STORAGES, **built}
    return made


def names(bucket):
    return sorted(one.key for one in bucket.objects.all())


def status(address):
    """Of a file that is read to its end."""
    answer = Client().get(address)
    answer.getvalue()
    return answer.status_code


def test_a_picture_is_shown_by_the_site_and_goes_with_its_post(alice, bucket):
    uploaded = upload_picture(alice, BytesIO(picture()), alt="A red wall.")
    post = publish(alice, media_ids=[uploaded.pk])
    uploaded.refresh_from_db()
    assert names(bucket) == sorted(f"media/{file}" for file in (uploaded.file, uploaded.preview))
    address = f"/media/{uploaded.file}"
    assert address in Client().get(f"/@alice/{post.pk}").text
    answer = Client().get(address)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.getvalue()[8:12] == b"WEBP"
    delete_post(post.pk, by=alice)
    assert names(bucket) == []
    assert Client().get(address).status_code == 404


@pytest.mark.slow
def test_a_restricted_picture_needs_an_address_that_was_just_made(alice, bob, page_of, bucket):
    uploaded = upload_picture(alice, BytesIO(picture()), alt="For you.")
    post = publish(alice, media_ids=[uploaded.pk], visibility="followers")
    file = Attachment.objects.get().file
    assert str(file).startswith("restricted/")
    assert Client().get(f"/media/{file}").status_code == 404
    page = page_of(bob).get(f"/@alice/{post.pk}").text
    signed = page.split(f'"/media/{file}', 1)[1].split('"')[0].replace("&amp;", "&")
    assert status(f"/media/{file}{signed}") == 200


@pytest.mark.slow
def test_an_avatar_takes_the_place_of_the_one_before(alice, page_of, bucket):
    for _time in range(2):
        file = SimpleUploadedFile("a.png", picture(), content_type="image/png")
        assert page_of(alice).post("/settings/profile", {"avatar": file}).status_code == 303
    avatar = User.objects.get(pk=alice.pk).avatar
    assert [f"media/{avatar}"] == [name for name in names(bucket) if name.startswith("media/")]
    assert status(f"/media/{avatar}") == 200


@pytest.mark.slow
def test_archives_and_drawn_pictures_are_where_no_address_leads(alice, bucket):
    publish(alice, "Mine.")
    request_export(alice)
    run_due(limit=1)
    post = publish(alice, "Drawn.")
    drawn = Client().get(f"/@alice/{post.pk}/card.png")
    assert drawn.status_code == 200
    assert Client().get(f"/@alice/{post.pk}/card.png").content == drawn.content
    kept = names(bucket)
    assert kept
    assert all(name.startswith("private/") for name in kept)
    assert sorted(name.partition("/")[2].partition("/")[0] for name in kept) == ["cards", "exports"]
    for name in kept:
        assert Client().get(f"/media/{name}").status_code == 404
        assert Client().get(f"/media/../{name}").status_code == 404


@pytest.mark.slow
@each("name", ["pictures/nothing.webp", "pictures/", "../private/x.webp"])
def test_what_is_not_there(db, name):
    assert Client().get(f"/media/{name}").status_code == 404
    assert not storages["default"].exists("pictures/nothing.webp")
