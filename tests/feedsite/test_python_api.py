"""The feed for other Python code does what pages and the API do."""

import subprocess
import sys
from io import BytesIO

import pytest

from apps.errors import BadRequest, Invalid, NotAllowed, NotFound
from apps.events.models import Event
from apps.graph.actions import block_user
from apps.posts.models import Attachment, Kind, Post
from feedsite import python_api
from feedsite.python_api import add_activity, follow, get_activity, unfollow
from tests.support.factories import deliver, make_user
from tests.support.pages import ids
from tests.support.pictures import picture
from tests.support.processes import environment
from tests.support.videos import sound, video

pytestmark = pytest.mark.django_db

# The example of the module's docstring, but for the lines that need files.
EXAMPLE = "\n".join(
    line.strip()
    for line in python_api.__doc__.splitlines()
    if line.startswith("    ") and "media=" not in line
)


@pytest.mark.long
def test_the_example_of_the_documentation_runs(transactional_db):
    make_user("alice")
    make_user("bob")
    done = subprocess.run(
        [sys.executable, "-c", f"{EXAMPLE}\nprint(get_activity('alice').items[0].post.body)"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "The river is high today.\n"


def test_what_is_said_reaches_followers_and_only_what_is_new_is_told(alice, carol):
    follow("carol", alice)
    deliver()
    first = add_activity("alice", "post", "One.")
    deliver()
    page = get_activity(carol.pk)
    assert ids(page) == [first]
    assert ids(get_activity("@carol", page.last_id)) == []
    answer = add_activity(alice.pk, "reply", "Two.", target=first)
    quote = add_activity(alice, "quote", "Three.", target=first)
    deliver()
    news = get_activity(carol, page.last_id)
    assert ids(news) == [quote, answer]
    assert ids(get_activity(carol, news.last_id)) == []


def test_a_late_delivery_is_told_although_its_id_is_older(alice, carol):
    for author in (alice, make_user("dora")):
        follow(carol, author)
    deliver()
    get_activity(carol)
    slow = add_activity("dora", "post", "Slow.")
    events = Event.objects.filter(name="post_published", payload__post_id=slow)
    events.update(due_at="2100-01-01T00:00Z")
    quick = add_activity(alice, "post", "Quick.")
    deliver()
    page = get_activity(carol)
    assert ids(page) == [quick]
    events.update(due_at="2020-01-01T00:00Z")
    deliver()
    assert ids(get_activity(carol, page.last_id)) == [slow]


def test_a_personal_page_is_one_persons_as_the_reader_may_see_it(alice, bob, carol):
    plain = add_activity(alice, "post", "For all.")
    secret = add_activity(alice, "post", "For followers.", visibility="followers")
    shared = add_activity(alice, "repost", target=add_activity(carol, "post", "Hers."))
    pages = {
        reader: get_activity(reader, kind="personal", owner=alice) for reader in (alice, bob, carol)
    }
    assert ids(pages[alice]) == ids(pages[bob]) == [shared, secret, plain]
    assert ids(pages[carol]) == [shared, plain]
    assert ids(get_activity(carol, pages[carol].last_id, kind="personal", owner="alice")) == []
    assert ids(get_activity(alice, str(plain), kind="personal", limit=1)) == [secret]
    assert get_activity(alice, str(plain), kind="personal", limit=1).more


def test_both_lists_know_of_a_follow_and_of_its_end(alice, carol):
    for _ in range(2):
        follow(carol, "alice")
    alice.counts.refresh_from_db()
    assert alice.counts.followers == 1
    unfollow("carol", alice)
    alice.counts.refresh_from_db()
    assert alice.counts.followers == 0


def test_a_key_makes_one_post(alice):
    made = {add_activity(alice, "post", "Once.", idempotency_key="k") for _ in range(3)}
    assert len(made) == Post.objects.count() == 1


@pytest.fixture
def folders(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    private = {**settings.STORAGES["private"], "OPTIONS": {"location": str(tmp_path / "private")}}
    settings.STORAGES = {**settings.STORAGES, "private": private}
    return tmp_path


def test_a_verb_says_what_is_told(alice, folders):
    path = folders / "a.png"
    path.write_bytes(picture())
    made = {
        Kind.TEXT: add_activity(alice, "text", "A text."),
        Kind.PICTURE: add_activity(alice, "picture", "Look.", media=[path, BytesIO(picture())]),
    }
    for kind, post_id in made.items():
        assert Post.objects.get(pk=post_id).kind == kind
    assert Attachment.objects.filter(post=made[Kind.PICTURE]).count() == 2
    answer = add_activity(alice, "reply", "", target=made[Kind.TEXT], media=[str(path)])
    assert Post.objects.get(pk=answer).kind == Kind.PICTURE


@pytest.mark.long
def test_video_and_sound_are_prepared_before_they_are_told(alice, folders):
    for verb, data in (("video", video()), ("audio", sound())):
        posts = {
            add_activity(alice, verb, "Look.", media=[BytesIO(data)], idempotency_key=verb)
            for _time in range(2)
        }
        [post] = posts
        assert Post.objects.get(pk=post).kind == verb
        assert Attachment.objects.get(post=post).state == "ready"


@pytest.mark.slow
def test_a_verb_with_other_media_leaves_nothing(alice, folders):
    for verb, data in (("picture", video()), ("video", sound()), ("audio", picture())):
        with pytest.raises(Invalid):
            add_activity(alice, verb, "Look.", media=[BytesIO(data)])
    assert not Attachment.objects.exists()
    assert not Post.objects.exists()


def test_refusals_are_those_of_the_site(alice, carol):
    post = add_activity(alice, "post", "One.")
    block_user(alice, carol)
    for refused, call in (
        (Invalid, lambda: add_activity(alice, "shout", "x")),
        (Invalid, lambda: add_activity(alice, "post", "x", target=post)),
        (Invalid, lambda: add_activity(alice, "repost")),
        (Invalid, lambda: add_activity(alice, "post", "")),
        (Invalid, lambda: add_activity(alice, "picture", "x")),
        (Invalid, lambda: add_activity(alice, "text", "x", media=[BytesIO(picture())])),
        (Invalid, lambda: add_activity(alice, "repost", target=post, media=[BytesIO(picture())])),
        (Invalid, lambda: add_activity(alice, "picture", "x", media=[BytesIO(b"x")])),
        (FileNotFoundError, lambda: add_activity(alice, "picture", "x", media=["/nowhere.png"])),
        (Invalid, lambda: get_activity(alice, kind="everything")),
        (BadRequest, lambda: get_activity(alice, "yesterday")),
        (BadRequest, lambda: get_activity(alice, "yesterday", kind="personal")),
        (NotFound, lambda: add_activity("nobody", "post", "x")),
        (NotFound, lambda: add_activity(carol, "reply", "x", target=post)),
        (NotAllowed, lambda: follow(carol, alice)),
        (Invalid, lambda: follow(alice, alice)),
    ):
        with pytest.raises(refused):
            call()
