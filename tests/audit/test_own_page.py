"""One's own page: compared while one watches, and taken along with a verifier that runs anywhere."""

import base64
import json
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.utils import timezone

from apps.accounts.actions import update_settings
from apps.audit.comparison import pages as comparison
from apps.audit.own_page import verify
from apps.audit.own_page.archive import page_archive
from apps.audit.own_page.check import check_page
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.filters.matching import ActiveFilter, Filters, Keyword, fold
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, UserList
from apps.moderation.actions import limit_user
from apps.pagination import Cursor
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from apps.timeline.sources.home_cache import HOME
from tests.support.factories import deliver, make_user, moderator, publish, repost

pytestmark = pytest.mark.django_db
KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def _key(settings):
    settings.PAGE_SIGNING_KEY = KEY


@pytest.fixture
def busy(alice, bob, carol):
    """Something for every rule; what bob may not see by name."""
    names = ("quiet", "abroad", "near", "foe", "loud")
    quiet, abroad, near, foe, loud = map(make_user, names)
    for other in (quiet, near, foe):
        follow_user(bob, other)
    follow_user(bob, abroad, languages=["de"], reposts=False)
    follow_user(near, bob)
    for text in ("plain", "the tea is ready", "steady", "我喝茶了", "We like #rivers"):
        publish(alice, text)
    brought = publish(carol, "brought by alice")
    repost(alice, brought.pk)
    publish(alice, "to a stranger", reply_to_id=brought.pk)
    update_settings(bob, hides_replies=True)
    repost(abroad, publish(carol, "hidden repost").pk)
    publish(abroad, "englisch", language="en")
    publish(abroad, "deutsch", language="de")
    publish(carol, "a tag #rivers")
    publish(quiet, "muted")
    repost(alice, publish(quiet, "muted source").pk)
    repost(alice, publish(loud, "limited source").pk)
    limit_user(loud, by=moderator())
    publish(near, "elsewhere")
    circle = create_group(Circle, near, name="close")
    add_members(Circle, near, circle.pk, [bob.pk])
    publish(near, "for the circle", visibility="circle", circle_id=circle.pk)
    publish(bob, "own tea")
    hidden = [
        publish(alice, "@carol only", visibility="mentioned"),
        publish(foe, "a foe's"),
        repost(alice, publish(foe, "the foe's source").pk),
    ]
    mute_user(bob, quiet)
    block_user(foe, bob)
    follow_tag(bob, "rivers")
    apart = create_group(UserList, bob, name="apart", is_exclusive=True)
    add_members(UserList, bob, apart.pk, [near.pk])
    words = [
        KeywordChange(keyword="tea", whole_word=True),
        KeywordChange(keyword="茶", whole_word=True),
    ]
    create_filter(bob, FilterChange("Words", ["home"], act="hide", keywords=words))
    deliver()
    bob.refresh_from_db()
    return hidden


def unpacked(body):
    with zipfile.ZipFile(BytesIO(body)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return path


def run_verifier(folder, path):
    """As anybody would, with nothing of the site on the path."""
    program = folder / "verify.py"
    program.write_bytes(unpacked(path.read_bytes())["verify.py"])
    command = [sys.executable, "-I", str(program), str(path)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={})


def reader(user):
    return type(user).objects.select_related("counts").get(pk=user.pk)


def test_the_verifier_is_short():
    assert len(Path(verify.__file__).read_text().splitlines()) <= 80


@pytest.mark.long
def test_a_downloaded_page_is_equal_wherever_it_is_checked(busy, bob, page_of, tmp_path):
    page = tmp_path / "page.zip"
    page.write_bytes(page_of(bob).get("/home/page.zip").content)
    ran = run_verifier(tmp_path, page)
    shown = [item.id for item in home_timeline(reader(bob), Cursor(limit=40)).items]
    assert len(shown) >= 7
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"equal: {len(shown)} posts from ")
    files = unpacked(page.read_bytes())
    assert json.loads(files["receipt.json"])["ids"] == shown
    # every rule had something to decide
    kinds = {json.loads(line)["row"] for line in files["rows.jsonl"].splitlines()}
    assert kinds == {"follow", "mute", "apart", "tag", "reply", "limited", "word", "post"}


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("tea", "teatime"),
        ("tea", "喝tea吗"),
        ("茶", "我喝茶了"),
        ("차", "보리차를 마셔요"),
        ("ཇ", "བོད་ཇའི"),
    ],
)
def test_whole_words_end_where_filters_end_them(word, text):
    keyword = Keyword(word, fold(word), whole_word=True)
    filters = Filters([ActiveFilter(1, "", (), act="hide", keywords=[keyword])])
    found = bool(filters.matches(1, [text], timezone.now()))
    assert verify.has_word(fold(text), {"word": fold(word), "whole_word": True}) == found


def _of(files, **wanted):
    """The number of the row of these values, from 1, and the row."""
    for number, line in enumerate(files["rows.jsonl"].splitlines(), 1):
        row = json.loads(line)
        if wanted.items() <= row.items():
            return number, row
    raise AssertionError(wanted)


CHANGES: list[tuple[dict[str, object], dict[str, object], str]] = [
    ({"row": "mute"}, {"on": 1}, "does not"),
    ({"row": "reply"}, {"on": 1}, "is missing on the page"),
    ({"row": "limited"}, {"on": 1}, "is missing on the page"),
    (
        {"row": "follow", "shows_reposts": False},
        {"shows_reposts": True},
        "is missing on the page",
    ),
    ({"row": "word", "word": "tea"}, {"word": "coffee"}, "is missing on the page"),
    ({"row": "word", "word": "tea"}, {"whole_word": False}, "does not belong on the page"),
]


@pytest.mark.long
def test_a_changed_row_is_named(busy, bob, tmp_path, subtests):
    files = unpacked(page_archive(reader(bob), Cursor(limit=40)))
    for wanted, change, sentence in CHANGES:
        with subtests.test(**wanted):
            number, row = _of(files, **wanted)
            lines = files["rows.jsonl"].splitlines()
            lines[number - 1] = json.dumps(row | change).encode()
            rows = b"\n".join(lines) + b"\n"
            page = packed(tmp_path / "page.zip", files | {"rows.jsonl": rows})
            ran = run_verifier(tmp_path, page)
            assert ran.returncode == 1
            assert f"row {number} was changed: {json.dumps(row | change)}" in ran.stdout
            assert sentence in ran.stdout or sentence == "does not"


@pytest.mark.long
def test_a_missing_row_and_a_forged_page_are_found(busy, bob, tmp_path):
    files = unpacked(page_archive(reader(bob), Cursor(limit=40)))
    lines = files["rows.jsonl"].splitlines()
    short = packed(tmp_path / "short.zip", files | {"rows.jsonl": b"\n".join(lines[:-1]) + b"\n"})
    assert "1 rows are missing" in run_verifier(tmp_path, short).stdout
    receipt = json.loads(files["receipt.json"])
    first, second = receipt["ids"][:2]
    receipt["ids"] = [second, *receipt["ids"][2:], 5]
    forged = packed(tmp_path / "forged.zip", files | {"receipt.json": json.dumps(receipt).encode()})
    said = run_verifier(tmp_path, forged).stdout
    assert f"post {first} is missing on the page" in said
    assert "post 5 does not belong on the page" in said


@pytest.mark.long
def test_the_signature_is_the_published_keys(busy, bob, client, tmp_path):
    for name, body in unpacked(page_archive(reader(bob), Cursor())).items():
        (tmp_path / name).write_bytes(body)
    published = client.get("/.well-known/feedsite-page-key.pem")
    assert published.content == (tmp_path / "key.pem").read_bytes()
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on this machine")
    command = [
        openssl,
        "pkeyutl",
        "-verify",
        "-pubin",
        "-inkey",
        "key.pem",
        "-rawin",
        "-in",
        "receipt.json",
    ]
    command += ["-sigfile", "receipt.sig"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "receipt.json").write_bytes((tmp_path / "receipt.json").read_bytes() + b" ")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode != 0


@pytest.mark.long
@pytest.mark.gate
def test_the_file_holds_nothing_that_its_reader_may_not_see(busy, bob):
    files = unpacked(page_archive(reader(bob), Cursor(limit=40)))
    text = b"".join(files.values())
    for post in busy:
        assert str(post.pk).encode() not in text
    assert b"foe" not in text
    assert b"@carol only" not in text


@pytest.mark.long
def test_without_a_key_there_is_no_signature(busy, bob, client, settings):
    settings.PAGE_SIGNING_KEY = ""
    assert "receipt.sig" not in unpacked(page_archive(reader(bob), Cursor()))
    assert client.get("/.well-known/feedsite-page-key.pem").status_code == 404


@pytest.mark.parametrize("key", ["short", base64.b64encode(b"x" * 31).decode(), "é"])
def test_a_bad_key_is_refused_at_the_start(key, settings):
    settings.PAGE_SIGNING_KEY = key
    assert "feedsite.E020" in [message.id for message in run_checks()]


@pytest.mark.long
@pytest.mark.gate
def test_a_right_page_is_equal_and_a_wrong_one_says_what_it_lacks(
    busy, bob, page_of, api_of, settings, monkeypatch
):
    settings.AUDIT_PROMISE_SECONDS = -60  # nothing is on its way any more
    monkeypatch.setattr(comparison, "SLACK_SECONDS", -60.0)
    found = check_page(reader(bob), Cursor(limit=40))
    assert (found.is_equal, found.posts >= 7) == (True, True)
    assert ": matches the database." in page_of(bob).get("/home/check?page=1").content.decode()
    items = home_timeline(reader(bob), Cursor(limit=40)).items
    lost = next(item.id for item in items if item.post.body == "plain")
    HOME.remove(bob.pk, [lost])
    said = page_of(bob).get("/home/check?page=1").content.decode()
    assert ": differs from the database." in said
    assert f"/explain/{lost}" in said
    answer = api_of(bob).get("/api/x/audit/mine").json()
    assert answer["equal"] is False
    assert answer["differences"] == [{"what": "missing", "status_id": str(lost)}]


@pytest.mark.long
def test_the_next_pages_follow_by_themselves(alice, bob, page_of):
    for number in range(45):
        publish(alice, f"Number {number}.")
    deliver()
    first = page_of(bob).get("/home/check?page=1").content.decode()
    assert "Page 1, 20 posts: matches the database." in first
    assert "“Matches the database” means: the page has exactly the posts that belong on it" in first
    assert 'hx-trigger="load"' in first
    older = first.split("page=2&amp;max_id=")[1].split('"')[0]
    assert len(home_timeline(reader(bob), Cursor.from_query({})).items) == 20  # as on the home page
    second = page_of(bob).get(f"/home/check?page=2&max_id={older}", headers={"HX-Request": "true"})
    older = second.content.decode().split("page=3&amp;max_id=")[1].split('"')[0]
    last = page_of(bob).get(f"/home/check?page=3&max_id={older}", headers={"HX-Request": "true"})
    assert "Page 3, 5 posts: matches the database." in last.content.decode()
    assert "The check is complete. If every line says" in last.content.decode()
    assert "<html" not in last.content.decode()


def test_checks_are_limited_and_for_oneself(bob, page_of, settings):
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"check": (1, 60)}
    assert [page_of(bob).get("/home/check?page=1").status_code for _ in range(2)] == [200, 429]
    assert page_of(None).get("/home/page.zip").status_code == 302
