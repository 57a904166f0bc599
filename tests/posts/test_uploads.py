"""Uploaded pictures: nothing survives but pixels, and nobody has anybody else's."""

import os
import subprocess
import sys
import time
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from django.utils import timezone
from PIL import Image, ImageSequence

from apps.errors import Invalid, NotFound, TooMany
from apps.media.addresses import LIFETIME_SECONDS
from apps.media.blurhash import blurhash
from apps.media.sandbox import reencode_picture
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import (
    describe_picture,
    upload_picture,
    uploaded_picture,
    withdraw_picture,
)
from apps.posts.models import Attachment, Post
from apps.posts.queries import versions_of, visible_posts
from apps.posts.tasks import purge_unused_uploads
from tests.support.factories import publish
from tests.support.pictures import (
    clear_moving,
    moving,
    picture,
    png,
    stereo,
    with_place,
    with_words,
)

pytestmark = pytest.mark.django_db


@pytest.mark.long
@pytest.mark.parametrize(
    "data",
    [picture(), picture(kind="JPEG"), picture(kind="WEBP"), picture(kind="GIF"), picture(mode="RGBA"),
     picture(mode="P"), picture(mode="L"), picture(mode="LA"), picture(mode="1"), picture(mode="I;16"),
     picture(kind="JPEG", mode="CMYK"), picture((1, 1)), picture((3000, 10))],
    ids=["png", "jpeg", "webp", "gif", "alpha", "palette", "grey", "grey-alpha", "bits", "16-bit", "cmyk", "dot",
         "wide"],
)  # fmt: skip
def test_every_form_of_picture_becomes_a_webp(data):
    made = reencode_picture(data)
    full, preview = Image.open(BytesIO(made.data)), Image.open(BytesIO(made.preview))
    assert (full.format, preview.format, full.size) == ("WEBP", "WEBP", (made.width, made.height))
    assert max(full.size) <= 2048
    assert max(preview.size) <= 640
    assert len(made.blurhash) == 28
    assert not made.moves


@pytest.mark.parametrize("data", [with_place(), with_words()], ids=["place", "words"])
def test_nothing_is_left_of_what_a_file_says_beside_its_pixels(data):
    made = reencode_picture(data)
    for part in (made.data, made.preview):
        assert b"canary" not in part
        found = Image.open(BytesIO(part))
        assert not found.getexif()
        assert not {"exif", "xmp", "icc_profile"} & found.info.keys()


def test_a_picture_on_its_side_is_set_upright():
    made = reencode_picture(with_place())
    assert (made.width, made.height) == (40, 60)


def test_what_moves_goes_on_moving():
    made = reencode_picture(moving(6))
    full = Image.open(BytesIO(made.data))
    assert (getattr(full, "n_frames", 1), full.size) == (6, (20, 10))
    assert made.moves
    assert getattr(Image.open(BytesIO(made.preview)), "n_frames", 1) == 1


HEIC = Path(__file__).parent / "heic"


def heic(name):
    """Written by libheif: Pillow's encoder for this format is not installed here."""
    return (HEIC / f"{name}.heic").read_bytes()


def alphas(picture):
    """How opaque each pixel is."""
    return np.asarray(picture.convert("RGBA"))[:, :, 3]


def first_of(data):
    made = reencode_picture(data)
    return made, Image.open(BytesIO(made.data))


@pytest.mark.long
@pytest.mark.parametrize("data", [stereo(), stereo((3000, 2000), (750, 500)), stereo((5000, 4000), (640, 480))],
                         ids=["stereo", "preview", "large"])  # fmt: skip
def test_a_jpeg_with_another_picture_inside_is_its_first(data):
    made, picture = first_of(data)
    assert (made.moves, getattr(picture, "n_frames", 1)) == (False, 1)
    red, green, blue = picture.convert("RGB").getpixel((1, 1))
    assert red > 150 > 100 > green + blue - 60


def test_a_jpeg_with_another_picture_inside_is_set_upright():
    facts = Image.Exif()
    facts[0x0112] = 6
    made, _picture = first_of(stereo((60, 40), exif=facts.tobytes()))
    assert (made.width, made.height) == (40, 60)


@pytest.mark.parametrize("kind", ["WEBP", "PNG"])
def test_what_moves_is_set_upright_too(kind):
    facts = Image.Exif()
    facts[0x0112] = 6
    made, picture = first_of(clear_moving(kind, exif=facts.tobytes()))
    assert (made.moves, made.width, made.height, picture.size) == (True, 20, 40, (20, 40))
    assert Image.open(BytesIO(made.preview)).size == (20, 40)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "AVIF"])
def test_what_moves_keeps_its_clear_ground_and_its_times(kind):
    more = {"disposal": 2} if kind == "GIF" else {}
    _made, picture = first_of(clear_moving(kind, **more))
    times, clear = [], []
    for frame in ImageSequence.Iterator(picture):
        frame.load()
        times.append(frame.info["duration"])
        clear.append(frame.convert("RGBA").getchannel("A").getpixel((39, 0)))
    assert (times, clear) == ([50, 100, 150], [0, 0, 0])


def test_a_gif_whose_ground_is_no_colour_of_it_goes_on_moving():
    data = bytearray(moving(3))
    data[11] = 255  # the index of its ground; its palette is shorter
    assert reencode_picture(bytes(data)).moves


@pytest.mark.long
@pytest.mark.parametrize(
    "data",
    [png(0, b"\x12\x34\xff\xff", b"\x12\x34"), png(0, b"\x00\x80\xff\xff", b"\x00\x80"),
     png(2, b"\x12\x34\x56\x78\x9a\xbc" + b"\xff" * 6, b"\x12\x34\x56\x78\x9a\xbc"),
     png(2, b"\x00\x80" * 3 + b"\xff" * 6, b"\x00\x80" * 3),
     png(4, b"\x12\x34\x00\x00\xff\xff\xff\xff"), png(6, b"\x12\x34\x56\x78\x9a\xbc\x00\x00" + b"\xff" * 8),
     png(0, b"\x12\xff", b"\x00\x12", depth=8), png(2, b"\x01\x02\x03" + b"\xff" * 3, b"\0\1\0\2\0\3", depth=8)],
    ids=["grey", "dark grey", "colours", "dark colours", "grey and alpha", "colours and alpha",
         "8-bit grey", "8-bit colours"],
)  # fmt: skip
def test_what_is_clear_stays_clear_with_any_number_of_bits(data):
    _made, picture = first_of(data)
    assert list(alphas(picture)[0]) == [0, 255]


@pytest.mark.parametrize("data", [picture(kind="AVIF"), heic("two")], ids=["avif", "heic"])
def test_the_formats_of_phones_are_read(data):
    made, full = first_of(data)
    assert (full.format, made.moves) == ("WEBP", False)
    assert full.size == (made.width, made.height)


@pytest.mark.slow
def test_phones_say_which_side_is_up_and_what_is_clear():
    made, _full = first_of(heic("side"))
    assert (made.width, made.height) == (48, 64)
    _made, full = first_of(heic("alpha"))
    assert set(alphas(full)[[0, 47], 0]) == {0, 128}
    made, _full = first_of(heic("camera"))  # 24 million pixels
    assert (made.width, made.height) == (2048, 1536)


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 1000, b"GIF89a", SVG, b"<html><script>alert(1)</script>", picture()[:-40], picture(kind="JPEG")[:200],
     picture(kind="BMP"), picture(kind="TIFF"), b"%PDF-1.4", b"PK\x03\x04" + bytes(100),
     picture((5001, 5000), mode="1"),
     moving(601), heic("side")[:-60], picture(kind="AVIF")[:-60], b"RIFF\xff\xff\xff\xffWEBPVP8 " + b"\xff" * 500],
    ids=["nothing", "zeros", "header", "svg", "html", "half-png", "half-jpeg", "bmp", "tiff", "pdf", "zip", "huge",
         "frames", "half-heic", "half-avif", "broken-webp"],
)  # fmt: skip
def test_what_is_no_fit_picture_is_refused(data):
    with pytest.raises(Invalid) as refused:
        reencode_picture(data)
    assert refused.value.errors.keys() == {"file"}


def test_an_image_that_is_a_page_too_becomes_only_an_image():
    made = reencode_picture(picture() + b"<script>alert(1)</script>")
    assert b"script" not in made.data


def test_the_blur_of_one_colour_is_that_colour():
    # the example of the format's description: black, and no detail at all
    black = blurhash(np.zeros((8, 8, 3), np.uint8), across=1, down=1)
    assert black == "000000"
    white = blurhash(np.full((8, 8, 3), 255, np.uint8), across=1, down=1)
    assert white[2:] == "TSUA"
    halves = np.zeros((8, 8, 3), np.uint8)
    halves[:, 4:] = 255
    assert blurhash(halves) != blurhash(halves[:, ::-1])


# -- waiting, published, gone --------------------------------------------------------------------


@pytest.fixture
def uploaded(alice):
    return upload_picture(alice, BytesIO(picture()), alt="A wall", focus=(0.5, -0.25))


def seen(viewer, post):
    return visible_posts(viewer.pk, [post.pk]).posts[post.pk].pictures


def files(row):
    return [Path(row.file.path), Path(row.preview.path)]


def test_a_post_takes_uploaded_pictures_in_the_order_named(alice, bob, uploaded):
    second = upload_picture(alice, BytesIO(picture((10, 20))))
    post = publish(alice, "", media_ids=[second.pk, uploaded.pk])
    assert post.kind == "picture"
    one, two = seen(bob, post)
    assert (one.id, two.id, two.alt, two.focus_x, two.focus_y) == (
        second.pk, uploaded.pk, "A wall", 0.5, -0.25,
    )  # fmt: skip
    assert two.preview_url
    assert two.blurhash == uploaded.blurhash


def test_nobody_takes_what_is_not_there_for_them(alice, bob, uploaded):
    taken = publish(alice, "One.", media_ids=[uploaded.pk])
    free = upload_picture(alice, BytesIO(picture())).pk
    for user, ids in (
        (alice, [uploaded.pk]),
        (bob, [free]),
        (alice, [10**9]),
        (alice, [free, free]),
        (alice, [free] * 5),
    ):
        with pytest.raises(Invalid):
            publish(user, "Two.", media_ids=ids)
    assert list(Post.objects.values_list("pk", flat=True)) == [taken.pk]
    assert Attachment.objects.get(pk=free).post is None


def test_a_picture_that_waits_is_its_owners(alice, bob, uploaded):
    assert uploaded_picture(alice, uploaded.pk) == uploaded
    describe_picture(alice, uploaded.pk, alt="A red wall")
    describe_picture(alice, uploaded.pk, focus=(0.0, 1.0))
    uploaded.refresh_from_db()
    assert (uploaded.alt, uploaded.focus_x, uploaded.focus_y) == ("A red wall", 0.0, 1.0)
    for call in (uploaded_picture, describe_picture, withdraw_picture):
        with pytest.raises(NotFound):
            call(bob, uploaded.pk)
    withdraw_picture(alice, uploaded.pk)
    assert not any(path.exists() for path in files(uploaded))
    with pytest.raises(NotFound):
        uploaded_picture(alice, uploaded.pk)


def test_a_published_picture_is_changed_with_its_post_only(alice, uploaded):
    post = publish(alice, media_ids=[uploaded.pk])
    for call in (describe_picture, withdraw_picture):
        with pytest.raises(NotFound):
            call(alice, uploaded.pk)
    assert seen(alice, post)[0].alt == "A wall"


@pytest.mark.parametrize(
    "more", [{"alt": "x" * 10_001}, {"focus": (1.1, 0.0)}, {"focus": (0.0, float("nan"))},
             {"focus": (float("inf"), 0.0)}]
)  # fmt: skip
def test_odd_labels_are_refused_before_anything_is_decoded(alice, more):
    with pytest.raises(Invalid):
        upload_picture(alice, BytesIO(picture()), **more)
    assert not Attachment.objects.exists()


def test_too_large_a_file_and_too_many_are_refused(alice, settings):
    settings.PICTURE_MAX_BYTES = 50
    with pytest.raises(Invalid, match="too large"):
        upload_picture(alice, BytesIO(picture()))
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "upload": (1, 60)}
    with pytest.raises(TooMany):
        upload_picture(alice, BytesIO(picture()))


def test_an_edit_adds_drops_and_reorders_pictures(alice, bob, uploaded):
    ids = [uploaded.pk, *(upload_picture(alice, BytesIO(picture())).pk for _ in range(2))]
    post = publish(alice, "", media_ids=ids[:2])
    edit_post(alice, post.pk, body="", media_ids=[ids[2], ids[0]])
    assert [one.id for one in seen(bob, post)] == [ids[2], ids[0]]
    edit_post(alice, post.pk, body="Text alone.", media_ids=[])
    assert seen(bob, post) == ()
    assert Post.objects.get().kind == "text"


def history_of(viewer, post):
    """The ids and descriptions of the pictures of each version."""
    versions = versions_of(visible_posts(viewer.pk, [post.pk]).posts[post.pk])
    return [[(picture.id, picture.alt) for picture in one.pictures] for one in versions]


def test_the_history_keeps_what_was_taken_out(alice, bob, client, uploaded):
    other = upload_picture(alice, BytesIO(picture()), alt="Another")
    post = publish(alice, "", media_ids=[uploaded.pk, other.pk])
    edit_post(alice, post.pk, body="One.", media_ids=[other.pk])
    edit_post(alice, post.pk, body="None.", media_ids=[])
    first, second = (uploaded.pk, "A wall"), (other.pk, "Another")
    assert history_of(bob, post) == [[first, second], [second], []]
    uploaded.refresh_from_db()
    assert client.get(uploaded.file.url).getvalue()
    edit_post(alice, post.pk, body="Back.", media_ids=[uploaded.pk])
    assert history_of(bob, post) == [[first, second], [second], [], [first]]
    assert [one.id for one in seen(bob, post)] == [uploaded.pk]


def test_what_was_taken_out_is_no_upload_and_goes_with_its_post(alice, client, uploaded):
    post = publish(alice, "One.", media_ids=[uploaded.pk])
    edit_post(alice, post.pk, body="None.", media_ids=[])
    Attachment.objects.update(created_at=timezone.now() - timedelta(days=2))
    purge_unused_uploads()
    uploaded.refresh_from_db()
    for call in (withdraw_picture, describe_picture):
        with pytest.raises(NotFound):
            call(alice, uploaded.pk)
    with pytest.raises(Invalid):
        publish(alice, "Two.", media_ids=[uploaded.pk])
    assert all(path.exists() for path in files(uploaded))
    delete_post(post.pk, by=alice, keep_pictures=True)
    assert client.get(uploaded.file.url).status_code == 404
    assert not Attachment.objects.exists()
    assert not any(path.exists() for path in files(uploaded))


def test_a_refused_edit_leaves_the_pictures(alice, uploaded):
    post = publish(alice, "One.", media_ids=[uploaded.pk])
    with pytest.raises(Invalid):
        edit_post(alice, post.pk, body="Two.", media_ids=[uploaded.pk, 10**9])
    with pytest.raises(Invalid):
        edit_post(alice, post.pk, body="Two.", media_ids=[uploaded.pk] * 2)
    with pytest.raises(Invalid):
        edit_post(alice, post.pk, body="", media_ids=[])
    assert [one.id for one in seen(alice, post)] == [uploaded.pk]
    assert all(path.exists() for path in files(uploaded))


def test_pictures_go_with_the_post_or_wait_to_be_posted_anew(alice, uploaded):
    post = publish(alice, "One.", media_ids=[uploaded.pk])
    delete_post(post.pk, by=alice, keep_pictures=True)
    again = publish(alice, "Two.", media_ids=[uploaded.pk])
    assert [one.id for one in seen(alice, again)] == [uploaded.pk]
    delete_post(again.pk, by=alice)
    assert not any(path.exists() for path in files(uploaded))
    assert not Attachment.objects.exists()


def test_pictures_that_nobody_took_are_deleted_after_a_day(alice, uploaded):
    used = upload_picture(alice, BytesIO(picture()))
    publish(alice, media_ids=[used.pk])
    young = upload_picture(alice, BytesIO(picture()))
    long_ago = timezone.now() - timedelta(days=2)
    Attachment.objects.filter(pk__in=[uploaded.pk, used.pk]).update(created_at=long_ago)
    purge_unused_uploads()
    assert set(Attachment.objects.values_list("pk", flat=True)) == {used.pk, young.pk}
    assert not any(path.exists() for path in files(uploaded))
    assert all(path.exists() for path in files(used))


# -- who gets the file -----------------------------------------------------------------------------


def fetched(client, url):
    answer = client.get(url)
    if answer.streaming:
        assert b"".join(answer.streaming_content)
    return answer.status_code, answer.headers["Cache-Control"]


def addresses(viewer, post):
    (one,) = seen(viewer, post)
    return one.url, one.preview_url


def test_the_file_of_an_open_post_is_there_for_everybody(alice, bob, client, uploaded):
    for url in addresses(bob, publish(alice, media_ids=[uploaded.pk])):
        assert fetched(client, url) == (200, "public, max-age=31536000, s-maxage=60, immutable")


@pytest.mark.parametrize("visibility", ["followers", "mentioned"])
def test_the_file_of_a_restricted_post_needs_an_address_that_was_just_made(
    alice, bob, client, uploaded, monkeypatch, visibility
):
    before = files(uploaded)
    post = publish(alice, "For @bob", visibility=visibility, media_ids=[uploaded.pk])
    assert not any(path.exists() for path in before)  # nor under its first name
    shown = addresses(bob, post)
    for url in shown:
        assert fetched(client, url) == (200, "private, max-age=86400")
        path, _mark, query = url.partition("?")
        until, key = query.split("&")
        wrong = (path, f"{path}?{until}", f"{path}?{key}", f"{path}?until=x&{key}", f"{url}0",
                 path.replace("restricted", "pictures/../restricted"), path.replace("restricted", "/restricted"),
                 f"{path}?until=99999999999&{key}", f"{path}?{until}&key=%C3%A9")  # fmt: skip
        assert [fetched(client, one)[0] for one in wrong] == [404] * len(wrong)
    later = time.time() + 2 * LIFETIME_SECONDS
    monkeypatch.setattr("apps.media.addresses.time", lambda: later)
    assert [fetched(client, url)[0] for url in shown] == [404, 404]
    assert [fetched(client, url)[0] for url in addresses(bob, post)] == [200, 200]
    delete_post(post.pk, by=alice)
    assert [fetched(client, url)[0] for url in shown] == [404, 404]


def test_a_picture_that_is_posted_anew_for_everybody_is_public(alice, bob, client, uploaded):
    first = publish(alice, "For some.", visibility="followers", media_ids=[uploaded.pk])
    delete_post(first.pk, by=alice, keep_pictures=True)
    again = publish(alice, "For all.", media_ids=[uploaded.pk])
    assert all("?" not in url for url in addresses(bob, again))
    assert [fetched(client, url)[0] for url in addresses(bob, again)] == [200, 200]


@pytest.mark.long
def test_the_site_imports_no_decoder():
    """Libraries that read what strangers send are loaded by the restricted programs alone."""
    program = "import sys, django; django.setup(); import apps.api.urls, apps.web.urls; print(*sys.modules, sep='\\n')"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "feedsite.settings"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert not {"pi_heif", "apps.media.pixels", "PIL.AvifImagePlugin"} & set(done.stdout.split())
