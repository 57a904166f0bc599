from datetime import datetime
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone

from apps.accounts.models import User, UserCounts
from apps.errors import Invalid, NotAllowed, NotFound, TooMany
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user
from apps.posts.actions import publish as publishing
from apps.posts.actions.drafts import MAX_PICTURES, Draft, NewPicture, PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import (
    delete_post,
    delete_reposts_of,
    publish_post,
)
from apps.posts.models import (
    Attachment,
    IdempotencyKey,
    Kind,
    Mention,
    Post,
    PostCounts,
    Visibility,
)
from apps.posts.queries import post_counts, visible_posts
from apps.timeline.publishing import undo_repost
from feedcache.ids import author_of, second_of
from tests.support.factories import make_user, moderator, publish, repost
from tests.support.threads import together

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("option", ["a" + "\u0301" * 400_000, "\u200d" * 1001, "\u3164", "\ufe0f"])
def test_an_option_has_a_limit_in_code_points_and_is_visible(alice, option):
    with pytest.raises(Invalid) as refused:
        publish(alice, "Which?", poll=PollDraft([option, "b"], 600))
    assert set(refused.value.errors) == {"poll"}


@pytest.mark.parametrize(
    "body", ["\u3164", "\u2800", "\ufe0f", "\u034f", "\u200b\n\u200d", "\u0001"]
)
def test_a_post_of_nothing_is_refused(alice, body):
    with pytest.raises(Invalid) as refused:
        publish(alice, body)
    assert set(refused.value.errors) == {"status"}


@pytest.mark.parametrize("warning", ["\u3164", " \u200b\n", "\u2800"])
def test_a_warning_of_nothing_is_none(alice, warning):
    post = publish(alice, "Hello.", content_warning=warning)
    assert post.content_warning == ""
    edit_post(alice, post.pk, body="Hello!", content_warning=f"\u0001{warning}")
    post.refresh_from_db()
    assert post.content_warning == ""


def number_of_posts(author):
    return UserCounts.objects.get(pk=author.pk).posts


def new_picture(name="a.webp", alt=""):
    return NewPicture(ContentFile(b"RIFF", name=name), width=4, height=3, alt=alt)


def recorded(name):
    return [
        event.payload for event in Event.objects.filter(name=name).order_by("pk").distinct("pk")
    ]


def test_a_post_is_a_row_counts_mentions_and_news(alice, carol):
    post = publish(
        alice, "  hello @Carol @nobody\r\n#tag ", content_warning=" careful ", language="en"
    )
    stored = Post.objects.get(pk=post.pk)
    assert (stored.body, stored.content_warning, stored.language) == (
        "hello @Carol @nobody\n#tag",
        "careful",
        "en",
    )
    assert (stored.kind, stored.visibility, stored.version) == (Kind.TEXT, Visibility.PUBLIC, 1)
    assert (author_of(post.pk), second_of(post.pk)) == (
        alice.pk,
        int(stored.created_at.timestamp()),
    )
    assert (stored.thread_id, stored.reply_to_id, stored.source_id) == (post.pk, None, None)
    assert list(Mention.objects.values_list("post", "user")) == [(post.pk, carol.pk)]
    assert (number_of_posts(alice), UserCounts.objects.get(pk=alice.pk).last_post_id) == (
        1,
        post.pk,
    )
    assert {str(payload) for payload in recorded("post_published")} == {str({"post_id": post.pk})}


@pytest.mark.parametrize(
    "draft",
    [{"body": ""}, {"body": " \n\u200b\u2028\t"}, {"body": "x" * 501}, {"body": "e\u0301" * 501},
     {"body": "\u0301" * 10_001},
     {"body": " ".join(f"@user_{n}" for n in range(21))},
     {"body": " ".join(f"#t{chr(97 + n)}" for n in range(26)) + " #a1 #b1 #c1 #d1 #e1"},
     {"visibility": "everybody"}, {"visibility": ""}, {"content_warning": "x" * 201},
     {"pictures": [new_picture()] * (MAX_PICTURES + 1)}],
)  # fmt: skip
def test_a_draft_that_breaks_a_rule_leaves_nothing(alice, draft):
    with pytest.raises(Invalid) as refusal:
        publish(alice, **{"body": "hello", **draft})
    assert len(refusal.value.errors) == 1
    assert not Post.objects.exists()
    assert number_of_posts(alice) == 0


@pytest.mark.parametrize(
    "body",
    [
        "x" * 500,
        "👩‍👩‍👧‍👦" * 500,
        "https://example.org/" + "x" * 1500 + " " + "y" * 476,
        "e\u0301" * 500,
    ],
)
def test_a_text_of_exactly_the_limit_is_published(alice, body):
    assert publish(alice, body).pk


def test_a_picture_needs_no_text(alice):
    post = publish(alice, "", pictures=[new_picture(alt="one"), new_picture(alt="two")])
    assert post.kind == Kind.PICTURE
    assert list(post.attachments.order_by("position").values_list("position", "alt")) == [
        (0, "one"),
        (1, "two"),
    ]


def test_replies_count_and_share_the_thread(alice, carol):
    first = publish(alice)
    second = publish(carol, reply_to_id=first.pk)
    third = publish(alice, reply_to_id=second.pk)
    assert [post.thread_id for post in (second, third)] == [first.pk, first.pk]
    assert (
        post_counts([first.pk])[first.pk].replies,
        post_counts([second.pk])[second.pk].replies,
    ) == (1, 1)
    delete_post(third.pk, by=alice)
    assert post_counts([second.pk])[second.pk].replies == 0


ORDER = ["public", "unlisted", "followers", "mentioned"]


def test_a_reply_reaches_no_further_than_a_restricted_post(alice, bob):
    for of_parent in ORDER:
        parent = publish(alice, "hello @bob", visibility=of_parent)
        reached = [
            publish(bob, "hello @alice", reply_to_id=parent.pk, visibility=asked).visibility
            for asked in ORDER
        ]
        widest = of_parent if of_parent in {"followers", "mentioned"} else "public"
        assert reached == [max(asked, widest, key=ORDER.index) for asked in ORDER], of_parent


def test_an_answer_to_a_repost_answers_what_it_shares(alice, bob, carol):
    source = publish(alice)
    wrapper = repost(carol, source.pk)
    assert publish(bob, reply_to_id=wrapper.pk).reply_to_id == source.pk
    assert publish(bob, quote_of_id=wrapper.pk).source_id == source.pk


@pytest.mark.parametrize("link", ["reply_to_id", "quote_of_id"])
def test_what_the_author_may_not_see_cannot_be_answered_or_quoted(alice, carol, link):
    deleted, restricted = publish(alice), publish(alice, visibility="followers")
    delete_post(deleted.pk, by=alice)
    answers = set()
    for post_id in (deleted.pk, restricted.pk, 5, 2**63 - 1, 10**19):
        with pytest.raises(NotFound) as refusal:
            publish(carol, **{link: post_id})
        answers.add(refusal.value.message)
    assert len(answers) == 1


def test_only_public_posts_are_quoted_or_reposted(alice, bob):
    post = publish(alice, "for followers", visibility="followers")
    with pytest.raises(NotAllowed):
        publish(bob, quote_of_id=post.pk)
    with pytest.raises(NotAllowed):
        repost(bob, post.pk)
    assert publish(alice, quote_of_id=post.pk).kind == Kind.QUOTE  # one's own
    assert publish(bob, quote_of_id=publish(alice, visibility="unlisted").pk).kind == Kind.QUOTE


def test_one_key_is_one_post_and_another_text_is_refused(alice, carol):
    post = publish(alice, "hello", idempotency_key="k")
    assert publish(alice, " hello\n", idempotency_key="k") == post
    assert publish(carol, "hello", idempotency_key="k") != post
    with pytest.raises(Invalid) as refusal:
        publish(alice, "other", idempotency_key="k")
    assert refusal.value.code == "idempotency_key_reused"
    edit_post(alice, post.pk, body="edited")
    assert publish(alice, "hello", idempotency_key="k") == post
    with pytest.raises(Invalid):
        publish(alice, "hello", idempotency_key="k" * 201)


def test_twenty_equal_requests_at_once_are_one_post(transactional_db):
    alice = make_user()
    posts = together(20, lambda _index: publish(alice, "hello @nobody", idempotency_key="same").pk)
    assert len(set(posts)) == 1
    assert Post.objects.count() == IdempotencyKey.objects.count() == number_of_posts(alice) == 1


def test_posts_of_one_author_at_once_all_get_ids_that_grow(transactional_db):
    alice = make_user()
    made = together(16, lambda index: [publish(alice, f"{index} {n}").pk for n in range(3)])
    assert all(share == sorted(share) for share in made)
    assert len({post_id for share in made for post_id in share}) == number_of_posts(alice) == 48
    assert UserCounts.objects.get(pk=alice.pk).last_post_id == max(max(share) for share in made)


def set_clock(monkeypatch, text):
    """What PostgreSQL's clock says from now on."""
    now = datetime.fromisoformat(text).timestamp()
    monkeypatch.setattr("apps.posts.store.clock", lambda _counts: now)


def test_a_clock_set_back_keeps_the_order_of_an_authors_posts(alice, monkeypatch):
    set_clock(monkeypatch, "2026-11-21T12:00:00Z")
    first = publish(alice)
    set_clock(monkeypatch, "2026-11-21T11:00:00Z")
    second = publish(alice)
    set_clock(monkeypatch, "2026-11-21T12:00:01Z")
    third = publish(alice)
    assert first.pk < second.pk < third.pk
    assert second.created_at >= first.created_at.replace(microsecond=0)


def test_the_seventeenth_post_of_a_second_is_dated_as_its_id(alice, monkeypatch):
    set_clock(monkeypatch, "2026-11-21T12:00:00Z")
    last = [publish(alice) for _ in range(17)][-1]
    assert last.created_at.isoformat() == "2026-11-21T12:00:01+00:00"


def test_posting_too_fast_is_refused_and_nothing_is_written(alice, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "publish": (2, 60)}
    publish(alice)
    publish(alice, idempotency_key="k")
    assert publish(alice, idempotency_key="k").pk  # a repeated request costs nothing
    with pytest.raises(TooMany) as refusal:
        publish(alice)
    assert 0 < refusal.value.retry_after <= 60
    assert number_of_posts(alice) == 2


def test_reposting_twice_is_once_and_a_repost_of_a_repost_shares_the_source(alice, bob, carol):
    source = publish(alice)
    wrapper = repost(bob, source.pk)
    assert repost(bob, source.pk) == wrapper
    assert repost(carol, wrapper.pk).source_id == source.pk
    assert post_counts([source.pk])[source.pk].reposts == 2
    undo_repost(bob, source.pk)
    undo_repost(bob, source.pk)
    assert post_counts([source.pk])[source.pk].reposts == 1
    assert repost(bob, source.pk) != wrapper


def test_sixteen_equal_reposts_at_once_are_one(transactional_db):
    alice, bob = make_user(), make_user()
    source = publish(alice)
    assert len(set(together(16, lambda _index: repost(bob, source.pk).pk))) == 1
    assert (post_counts([source.pk])[source.pk].reposts, number_of_posts(bob)) == (1, 1)


def test_reposts_by_many_at_once_are_all_counted(transactional_db):
    source, crowd = publish(make_user()), [make_user() for _ in range(10)]
    together(10, lambda index: repost(crowd[index], source.pk))
    assert post_counts([source.pk])[source.pk].reposts == 10


def test_an_edit_changes_text_mentions_and_version(alice, carol):
    dora = make_user("dora")
    post = publish(alice, "hello @carol")
    edit_post(alice, post.pk, body="hello @dora ", content_warning="cw", language="de")
    stored = Post.objects.get(pk=post.pk)
    assert (stored.body, stored.content_warning, stored.language, stored.version) == (
        "hello @dora",
        "cw",
        "de",
        2,
    )
    assert stored.edited_at is not None
    assert list(Mention.objects.values_list("user", flat=True)) == [dora.pk]
    edit_post(alice, post.pk, body="again")
    stored.refresh_from_db()
    assert (stored.content_warning, stored.language, stored.version) == ("cw", "de", 3)
    assert (
        len(
            set(Event.objects.filter(name="post_edited").values_list("payload__post_id", flat=True))
        )
        == 1
    )
    del carol


def test_only_the_author_edits_and_only_what_is_there(alice, carol):
    post, gone = publish(alice), publish(alice)
    delete_post(gone.pk, by=alice)
    wrapper = repost(alice, publish(carol).pk)
    for author, post_id in (
        (carol, post.pk),
        (alice, gone.pk),
        (alice, wrapper.pk),
        (alice, 5),
        (alice, 10**19),
    ):
        with pytest.raises(NotFound):
            edit_post(author, post_id, body="mine now")
    with pytest.raises(Invalid):
        edit_post(alice, post.pk, body="")
    assert Post.objects.get(pk=post.pk).version == 1


def test_edits_at_once_each_make_a_version(transactional_db):
    alice = make_user()
    post = publish(alice)
    together(8, lambda index: edit_post(alice, post.pk, body=f"edit {index}"))
    assert Post.objects.get(pk=post.pk).version == 9


def test_a_delete_takes_text_attachments_files_and_counts(
    alice, carol, django_capture_on_commit_callbacks
):
    parent = publish(carol)
    post = publish(
        alice,
        "private thoughts",
        reply_to_id=parent.pk,
        content_warning="cw",
        pictures=[new_picture()],
    )
    path = Path(Attachment.objects.get().file.path)
    with django_capture_on_commit_callbacks(execute=True):
        before = delete_post(post.pk, by=alice).post
    assert before.body == "private thoughts"
    stored = Post.objects.get(pk=post.pk)
    assert (stored.body, stored.content_warning) == ("", "")
    assert stored.deleted_at is not None
    assert not Attachment.objects.exists()
    assert not path.exists()
    assert (number_of_posts(alice), post_counts([parent.pk])[parent.pk].replies) == (0, 0)
    with pytest.raises(NotFound):
        delete_post(post.pk, by=alice)
    assert (number_of_posts(alice), post_counts([parent.pk])[parent.pk].replies) == (0, 0)


def test_a_file_that_two_posts_share_stays_until_the_last_is_gone(
    alice, django_capture_on_commit_callbacks
):
    first = publish(alice, pictures=[new_picture()])
    second = publish(alice)
    name = Attachment.objects.get().file.name
    Attachment.objects.create(post=second, file=name, width=4, height=3)
    path = Path(Attachment.objects.filter(post=first).get().file.path)
    for post, left in ((first, True), (second, False)):
        with django_capture_on_commit_callbacks(execute=True):
            delete_post(post.pk, by=alice)
        assert path.exists() == left


def test_only_author_and_staff_delete(alice, carol):
    post = publish(alice)
    with pytest.raises(NotFound):
        delete_post(post.pk, by=carol)
    with pytest.raises(NotFound):
        delete_post(10**19, by=carol)
    delete_post(post.pk, by=moderator())
    assert Post.objects.get(pk=post.pk).deleted_at is not None


def test_deletes_at_once_count_once(transactional_db):
    alice = make_user()
    kept, post = publish(alice), publish(alice)

    def attempt(_index):
        try:
            delete_post(post.pk, by=alice)
        except NotFound:
            return 0
        return 1

    assert sum(together(8, attempt)) == 1
    assert number_of_posts(alice) == 1
    assert Post.objects.get(pk=kept.pk).deleted_at is None


def test_reposts_of_a_deleted_post_go_a_batch_at_a_time(alice):
    source = publish(alice)
    for _ in range(5):
        repost(make_user(), source.pk)
    delete_post(source.pk, by=alice)
    assert [delete_reposts_of(source.pk, limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert not Post.objects.filter(kind=Kind.REPOST, deleted_at=None).exists()


def test_reposts_that_their_authors_delete_at_the_same_time_are_no_error(alice, monkeypatch):
    source = publish(alice)
    for _ in range(3):
        repost(make_user(), source.pk)
    delete_post(source.pk, by=alice)

    def delete_twice(post_id, *, by):
        delete_post(post_id, by=by)  # the author, a moment earlier
        delete_post(post_id, by=by)

    monkeypatch.setattr(publishing, "delete_post", delete_twice)
    assert delete_reposts_of(source.pk, limit=9) == 3
    assert not Post.objects.filter(kind=Kind.REPOST, deleted_at=None).exists()


@pytest.mark.slow
def test_everything_at_once_leaves_exact_counts_and_no_deadlock(transactional_db):
    """Replies, reposts, edits and deletes around one post."""
    crowd = [make_user() for _ in range(8)]
    for one in crowd[1:]:
        follow_user(one, crowd[0])
    root = publish(crowd[0])

    def live(index):
        me = crowd[index]
        for _ in range(3):
            answer = publish(me, reply_to_id=root.pk)
            repost(me, root.pk)
            edit_post(me, answer.pk, body="edited")
            nested = publish(me, reply_to_id=answer.pk)
            delete_post(answer.pk, by=me)
            delete_post(nested.pk, by=me)
        return publish(me, reply_to_id=root.pk).pk

    together(8, live)
    assert (post_counts([root.pk])[root.pk].replies, post_counts([root.pk])[root.pk].reposts) == (
        8,
        8,
    )
    assert [number_of_posts(one) for one in crowd] == [3] + [2] * 7
    assert not PostCounts.objects.filter(post__deleted_at=None, replies__gt=8).exists()


def test_a_mention_of_somebody_suspended_names_nobody(alice, carol):
    User.objects.filter(pk=carol.pk).update(suspended_at=timezone.now())
    assert not publish(alice, "hello @carol").mentions.exists()


def test_a_mention_does_not_reach_through_a_block(alice, carol):
    block_user(carol, alice)
    post = publish(alice, "look @carol", visibility="mentioned")
    assert visible_posts(carol.pk, [post.pk]).posts == {}


def test_a_draft_is_published_as_it_is(alice):
    assert publish_post(alice, Draft(body="hello")).post.body == "hello"
