from io import BytesIO

import pytest
from django.db import connection

from apps.errors import Invalid, NotFound
from apps.events.models import Event
from apps.posts.actions.drafts import PictureChange, PollDraft
from apps.posts.actions.edit import edit_post, pin_post, unpin_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.cache import CACHED_POSTS
from apps.posts.models import Post, Revision
from apps.posts.queries import source_of, versions_of, visible_posts
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.pictures import picture
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def content(viewer, post):
    return visible_posts(viewer.pk, [post.pk]).posts[post.pk]


def test_every_edit_keeps_what_it_replaces(alice, bob):
    post = publish(alice, "One @bob", content_warning="cw")
    edit_post(alice, post.pk, body="Two", content_warning="")
    edit_post(alice, post.pk, body="Three", sensitive=True)
    versions = versions_of(content(bob, post))
    assert [(one.body, one.content_warning, one.sensitive) for one in versions] == [
        ("One @bob", "cw", False), ("Two", "", False), ("Three", "", True),
    ]  # fmt: skip
    assert versions[0].created_at == content(bob, post).created_at
    assert sorted(one.created_at for one in versions) == [one.created_at for one in versions]
    assert 'href="/@bob"' in versions[0].html


def test_mentions_are_in_the_order_of_the_text_whoever_reads_them(alice, bob, carol):
    """The rows go on from an edit as caches do: what is loaded anew is what was stored."""
    for name in ("zoe", "dora", "yann", "emil"):
        make_user(name)
    post = publish(alice, "@carol and @bob")
    order = ["dora", "bob", "yann", "zoe", "carol", "emil"]
    edit_post(alice, post.pk, body=" ".join(f"@{name}" for name in order))

    def mentioned():
        cached = list(content(alice, post).mentions)
        CACHED_POSTS.delete_many([post.pk])
        return cached, list(content(alice, post).mentions)

    assert mentioned() == (order, order)
    pin_post(alice, post.pk)  # with what is stored
    assert mentioned() == (order, order)
    edit_post(alice, post.pk, body="@emil, not @dora, @bob")
    assert mentioned() == (["emil", "dora", "bob"],) * 2


def test_an_edit_that_changes_nothing_is_none(alice, bob, api_of, media):
    shown = upload_picture(alice, BytesIO(picture()), alt="A wall")
    post = publish(
        alice, "One @bob #tea", content_warning="cw", language="en", media_ids=[shown.pk]
    )
    repost(bob, post.pk)
    deliver()
    before = content(alice, post)
    events = Event.objects.count()
    edit_post(
        alice, post.pk, body=" One @bob #tea\n", content_warning="cw ", language="en", sensitive=False,
        media_ids=[shown.pk], pictures=[PictureChange(shown.pk, alt="A wall", focus=(0.0, 0.0))], quote_policy="public",
    )  # fmt: skip
    body = {
        "status": "One @bob #tea",
        "spoiler_text": "cw",
        "language": "en",
        "media_ids": [str(shown.pk)],
    }
    sent = api_of(alice).put(f"/api/v1/statuses/{post.pk}", body, format="json").json()
    assert (sent["edited_at"], content(alice, post)) == (None, before)
    assert (Revision.objects.count(), Event.objects.count()) == (0, events)


@pytest.mark.parametrize(
    "changes",
    [{"body": "Two"}, {"content_warning": "cw"}, {"language": "de"}, {"sensitive": True}, {"quote_policy": "nobody"},
     {"poll": PollDraft(["Red", "Blue"], 600)}, {"poll": PollDraft(["Red", "Green"], 600, multiple=True)},
     {"poll": PollDraft(["Red", "Green"], 600, hide_totals=True)}],
    ids=["body", "warning", "language", "sensitive", "quotes", "options", "several", "totals"],
)  # fmt: skip
def test_every_change_of_a_part_is_an_edit(alice, changes):
    post = publish(alice, "One", poll=PollDraft(["Red", "Green"], 600))
    edit_post(alice, post.pk, **{"body": "One", **changes})
    assert content(alice, post).edited_at is not None
    assert Revision.objects.count() == 1


@pytest.mark.parametrize("change", [{"alt": "Another"}, {"focus": (0.5, 0.5)}])
def test_another_description_is_an_edit(alice, media, change):
    shown = upload_picture(alice, BytesIO(picture()), alt="A wall")
    post = publish(alice, "One", media_ids=[shown.pk])
    edit_post(alice, post.pk, body="One", pictures=[PictureChange(shown.pk, **change)])
    assert content(alice, post).edited_at is not None


def test_another_end_of_a_poll_is_seen_and_no_edit(alice):
    post = publish(alice, "One", poll=PollDraft(["Red", "Green"], 600))
    before = content(alice, post)
    edit_post(alice, post.pk, body="One", poll=PollDraft(["Red", "Green"], 6000))
    after = content(alice, post)
    assert after.poll.expires_ms > before.poll.expires_ms + 5_000_000
    assert (after.edited_at, after.version > before.version) == (None, True)


def test_a_refused_edit_leaves_no_revision(alice):
    post = publish(alice)
    with pytest.raises(Invalid):
        edit_post(alice, post.pk, body="")
    assert not Revision.objects.exists()


def test_a_deleted_post_has_no_earlier_texts(alice):
    post = publish(alice, "A secret.")
    edit_post(alice, post.pk, body="Nothing.")
    delete_post(post.pk, by=alice)
    with connection.cursor() as sql:
        sql.execute("SELECT count(*) FROM posts_revision")
        assert sql.fetchone() == (0,)


def test_the_source_is_for_the_author_alone(alice, bob):
    post = publish(alice, "**as** written", content_warning="cw")
    shared = repost(bob, post.pk)
    assert source_of(alice, post.pk).body == "**as** written"
    for user, number in ((bob, post.pk), (bob, shared.pk), (alice, 5)):
        with pytest.raises(NotFound):
            source_of(user, number)


@pytest.mark.parametrize("visibility", ["public", "unlisted", "followers"])
def test_a_pin_is_seen_at_the_next_read_and_is_no_edit(alice, visibility):
    post = publish(alice, "Look @bob", visibility=visibility)
    assert not content(alice, post).pinned
    pin_post(alice, post.pk)
    pin_post(alice, post.pk)
    found = content(alice, post)
    assert (found.pinned, found.edited_at, found.body) == (True, None, "Look @bob")
    assert not Revision.objects.exists()
    unpin_post(alice, post.pk)
    unpin_post(alice, post.pk)
    assert not content(alice, post).pinned


def test_what_cannot_be_pinned(alice, bob, settings):
    settings.PINNED_POSTS_MAX = 2
    foreign, addressed = publish(bob), publish(alice, "@bob hello", visibility="mentioned")
    for number in (foreign.pk, repost(alice, foreign.pk).pk, 5):
        with pytest.raises(NotFound):
            pin_post(alice, number)
    with pytest.raises(Invalid):
        pin_post(alice, addressed.pk)
    for _ in range(2):
        pin_post(alice, publish(alice).pk)
    with pytest.raises(Invalid, match="At most 2"):
        pin_post(alice, publish(alice).pk)


@pytest.mark.django_db(transaction=True)
def test_pins_at_the_same_time_keep_to_the_limit(alice, settings):
    settings.PINNED_POSTS_MAX = 3
    posts = [publish(alice) for _ in range(8)]

    def pin(index):
        try:
            pin_post(alice, posts[index].pk)
        except Invalid:
            return False
        return True

    assert sum(together(8, pin)) == 3
    assert Post.objects.exclude(pinned_at=None).count() == 3
