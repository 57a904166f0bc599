"""What an archive is, which of its posts are taken, and how little of a hostile one is read."""

import io
import json
import struct
import zipfile
from zipfile import ZIP_BZIP2, ZIP_STORED, ZipFile

import pytest

from apps.earlier_posts import archive_file
from apps.earlier_posts.archive_file import Archive, posts_of
from apps.errors import Invalid
from tests.support.archives import ACTOR, PUBLIC, SITE, archive, attached, boost, note


def read(*activities, **more):
    return list(posts_of(Archive(io.BytesIO(archive(*activities, **more)))))


def only(*args, **fields):
    [found] = read(note(*args, **fields))
    return found


def code_of(data):
    with pytest.raises(Invalid) as caught:
        list(posts_of(Archive(io.BytesIO(data))))
    assert list(caught.value.errors) == ["file"]
    return caught.value.code


def test_a_post_with_all_it_has():
    files = {"media_attachments/files/1/original/a.png": "x"}
    activity = note(
        7, "<p>Hi</p>", summary="Food", sensitive=True, updated="2019-05-02T00:00:00Z", contentMap={"zh-CN": "x"},
        inReplyTo=f"{ACTOR}/statuses/6",
        tag=[{"type": "Mention", "href": f"{SITE}/users/bob", "name": "@bob"},
             {"type": "Mention", "href": "https://far.example/users/cleo", "name": "@cleo@far.example"},
             {"type": "Hashtag", "name": "#tea"}],
        attachment=[attached("media_attachments/files/1/original/a.png", "A cup", focalPoint=[0.5, -1])],
    )  # fmt: skip
    [found] = read(activity, files=files)
    assert (found.cells, found.refusal) == ([f"{ACTOR}/statuses/7", "2019-05-01"], "")
    assert found.post == {
        "origin": f"{ACTOR}/statuses/7", "published": "2019-05-01T10:00:07+00:00",
        "edited": "2019-05-02T00:00:00+00:00", "visibility": "public", "html": "<p>Hi</p>", "warning": "Food",
        "sensitive": True, "language": "zh", "reply_to": f"{ACTOR}/statuses/6",
        "mentions": ["@bob@old.example", "@cleo@far.example"], "options": [],
        "media": [{"file": "media_attachments/files/1/original/a.png", "type": "image/png", "alt": "A cup",
                   "focus": [0.5, -1]}],
    }  # fmt: skip


def test_boosts_are_no_posts():
    assert [found.post["origin"] for found in read(boost(1), note(2), boost(3))] == [f"{ACTOR}/statuses/2"]  # fmt: skip


@pytest.mark.parametrize(
    ("to", "cc", "visibility"),
    [
        ([PUBLIC], [], "public"),
        (["as:Public"], [], "public"),
        ([f"{ACTOR}/followers"], [PUBLIC], "unlisted"),
        ([f"{ACTOR}/followers"], ["https://far.example/users/cleo"], "followers"),
    ],
)
def test_visibility(to, cc, visibility):
    [found] = read(note(to=to, cc=cc))
    assert found.post["visibility"] == visibility


def test_addresses_may_stand_alone():
    [found] = read({**note(), "object": {**note()["object"], "to": PUBLIC, "cc": None}})
    assert found.post["visibility"] == "public"


@pytest.mark.parametrize(
    ("activity", "reason"),
    [
        (note(to=["https://far.example/users/cleo"], cc=[]), "only for the people it mentions"),
        (note(to=[], cc=[]), "only for the people it mentions"),
        (note(attributedTo=f"{SITE}/users/eve"), "not a post by the account"),
        ({**note(), "actor": f"{SITE}/users/eve"}, "not a post by the account"),
        (note(type="Event"), "not a post by the account"),
        (note(published="3019-01-01T00:00:00Z"), "is in the future"),
        (note(published="yesterday"), "has no date"),
        (note(published=None), "has no date"),
        (note(id="javascript:alert(1)"), "no usable address"),
        (note(id="https://[x"), "no usable address"),
        (note(id="https://a.example/" + "x" * 500), "no usable address"),
        (note(text="x" * 50_001), "too long"),
    ],
)  # fmt: skip
def test_what_is_left_out_says_why(activity, reason):
    [found] = read(activity)
    assert found.post is None
    assert reason in found.refusal


@pytest.mark.parametrize(
    "odd", [None, 1, "x", [], {"type": "Create"}, {"type": "Create", "object": "x"}, {"type": ["Create"], "object": {}}]
)  # fmt: skip
def test_odd_activities_are_passed_over(odd):
    assert len(read(odd, note())) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"content": 5, "contentMap": [], "tag": "x", "attachment": [None, 3, {"url": 4}, {"url": "https://[x"}]},
        {"summary": {}, "tag": [1, {"type": "Mention"}, {"type": "Mention", "name": "@a", "href": "https://[x"}]},
        {"attachment": attached("x", focalPoint=["a", 9]), "oneOf": [{"name": 1}, {"name": "Tea"}, 3]},
    ],
)  # fmt: skip
def test_fields_of_other_kinds_than_expected_are_as_if_empty(fields):
    found = only(**fields)
    assert found.post["origin"] == f"{ACTOR}/statuses/1"
    json.dumps(found.post)


def test_what_postgresql_cannot_store_goes():
    assert only(text="<p>a\0b\ud800</p>").post["html"] in {"<p>ab</p>", "<p>ab?</p>"}


def test_a_file_belongs_to_one_post_only():
    """Or a picture could be decoded and stored twenty thousand times."""
    [one, two] = read(
        note(1, attachment=[attached("a.png")]),
        note(2, attachment=[attached("a.png")]),
        files={"a.png": "x"},
    )
    assert [found.post["media"][0]["file"] for found in (one, two)] == ["a.png", None]


@pytest.mark.parametrize(
    "address",
    ["media_attachments/files/a.png", "/media_attachments/files/a.png", "/bucket/media_attachments/files/a.png",
     "https://cdn.example/x/media_attachments/files/a.png?1"],
)  # fmt: skip
def test_files_are_found_by_the_addresses_that_servers_write(address):
    [found] = read(note(attachment=[attached(address)]), files={"media_attachments/files/a.png": "x"})  # fmt: skip
    assert found.post["media"][0]["file"] == "media_attachments/files/a.png"


@pytest.mark.parametrize("address", ["../../etc/passwd", "/etc/passwd", "", "outbox.json/../actor.json"])  # fmt: skip
def test_no_path_leads_out_of_the_archive(address):
    assert only(attachment=[attached(address)]).post["media"][0]["file"] is None


def test_an_archive_that_was_packed_again_lies_in_a_folder():
    [found] = read(note(attachment=[attached("/a.png")]), files={"a.png": "x"}, folder="archive-2024/")  # fmt: skip
    assert found.post["media"][0]["file"] == "archive-2024/a.png"


@pytest.mark.parametrize(
    "data",
    [b"", b"no zip", b"PK\5\6" + b"\0" * 18, archive(note(), outbox=None), archive(note(), actor=None),
     archive(note(), actor="[]"), archive(note(), actor="{"), archive(note(), actor='{"id": 5}'),
     b"\x1f\x8b" + b"\0" * 100],
)  # fmt: skip
def test_what_is_no_archive_is_refused(data):
    assert code_of(data) == "not_an_archive"


@pytest.mark.parametrize("outbox", ["{", '{"orderedItems": [{"type":', "\xff", '{"orderedItems": [01]}'])  # fmt: skip
def test_a_broken_outbox_is_refused(outbox):
    assert code_of(archive(note(), outbox=outbox)) == "broken"


def test_an_archive_without_posts_is_refused():
    assert code_of(archive(boost())) == "empty"


def test_another_compression_is_refused():
    data = archive(note(), compression=ZIP_BZIP2)
    assert code_of(data) in {"broken", "not_an_archive"}


def test_an_outbox_that_unpacks_to_too_much_is_not_read(monkeypatch):
    monkeypatch.setattr(archive_file, "MAX_OUTBOX_BYTES", 10_000)
    data = archive(note(), outbox=" " * 10_001)
    assert len(data) < 1000
    assert code_of(data) == "too_large"


def test_an_outbox_that_lies_about_its_size_is_broken(monkeypatch):
    """zipfile reads as much as the directory says."""
    monkeypatch.setattr(archive_file, "MAX_OUTBOX_BYTES", 1000)
    data = bytearray(archive(note(), outbox='{"orderedItems": [' + " " * 5000 + "]}"))
    with ZipFile(io.BytesIO(data)) as file:
        size = struct.pack("<I", file.getinfo("outbox.json").file_size)
    data = data.replace(size, struct.pack("<I", 500))
    assert code_of(bytes(data)) == "broken"


def test_too_many_posts_are_refused(monkeypatch):
    monkeypatch.setattr(archive_file, "MAX_POSTS", 2)
    assert len(read(note(1), note(2), boost(3))) == 2
    assert code_of(archive(note(1), note(2), note(3))) == "too_many_posts"


def test_a_directory_that_is_too_large_is_not_read(monkeypatch):
    """`ZipFile` makes an object of every entry, before anybody can count them."""
    monkeypatch.setattr(archive_file, "MAX_DIRECTORY_BYTES", 1000)
    opened = []
    monkeypatch.setattr(archive_file, "ZipFile", opened.append)
    data = archive(note(), files={f"{number}.png": "" for number in range(20)})
    assert code_of(data) == "too_many_files"
    assert opened == []


def test_a_directory_in_the_large_form_is_not_read(monkeypatch):
    """zipfile believes it, whatever the short form says."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    assert code_of(archive(note(), files={"a.png": ""})) == "too_many_files"


def test_the_end_is_found_where_zipfile_finds_it():
    """A comment may look like an end."""
    buffer = io.BytesIO(archive(note()))
    with ZipFile(buffer, "a") as file:
        file.comment = b"a comment"
    assert len(list(posts_of(Archive(buffer)))) == 1


def test_a_file_that_is_too_large_or_broken_is_not_there():
    data = archive(note(), files={"a.png": "x" * 2000, "b.png": "y" * 10}, compression=ZIP_STORED)
    opened = Archive(io.BytesIO(data.replace(b"y" * 10, b"z" * 10)))
    assert opened.read("a.png", maximum=1999) is None
    assert opened.read("a.png", maximum=2000) == b"x" * 2000
    assert opened.read("b.png", maximum=100) is None  # its checksum
    assert opened.read("c.png", maximum=100) is None
