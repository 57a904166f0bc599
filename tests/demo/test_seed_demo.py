"""What the small demo is like; it is made once for all tests of this module."""

import pytest
from django.contrib.auth import authenticate
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F, Q

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_handle
from apps.audit import auditor
from apps.audit.checks import DELIVERIES
from apps.audit.explain import explain_home
from apps.demo.content.loader import load_content
from apps.engagement.models import Bookmark, Like
from apps.graph.models import Followee, Follower
from apps.notifications.queries import unread_count
from apps.pagination import Cursor
from apps.posts.content.text import mentioned_handles
from apps.posts.models import Attachment, Kind, Post
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutJob
from apps.timeline.pipeline.reasons import Reason
from feedcache.ids import author_of, second_of
from tests.demo.seeding import NOW, assert_counts_equal_rows, make_demo

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_demo()
        transaction.set_rollback(True)


@pytest.fixture
def small(made, db):
    return made


def test_small_makes_what_it_says(small):
    people = len(load_content().people)
    assert small.accounts == people + 60 == User.objects.count()
    assert small.follows == Followee.objects.count() == Follower.objects.count()
    assert small.posts == Post.objects.count()
    assert small.likes == Like.objects.count()
    assert small.pictures == Attachment.objects.count()


def test_counts_equal_the_rows(small):
    assert_counts_equal_rows()


def test_ids_hold_author_and_time_and_answers_are_later(small):
    for post in Post.objects.select_related("source", "reply_to"):
        assert author_of(post.pk) == post.author_id
        assert second_of(post.pk) == int(post.created_at.timestamp()) <= NOW
        assert post.source is None or post.source.pk < post.pk
        assert post.reply_to is None or post.reply_to.pk < post.pk
        assert post.thread_id == (post.reply_to.thread_id if post.reply_to else post.pk)


def test_nobody_follows_or_likes_oneself_and_everybody_follows_somebody(small):
    assert not Followee.objects.filter(owner=F("followee")).exists()
    assert not Like.objects.filter(user=F("post__author")).exists()
    assert not UserCounts.objects.filter(following__lt=3).exists()


def test_what_redis_holds_of_the_graph_is_a_miss_afterwards(small):
    counts = UserCounts.objects.all()
    assert not counts.exclude(following=0).filter(graph_revision=0).exists()
    assert not counts.exclude(followers=0).filter(followers_revision=0).exists()


def test_one_author_is_followed_by_most_and_the_graph_has_a_tail(small):
    followers = sorted(UserCounts.objects.values_list("followers", flat=True))
    assert followers[-1] > User.objects.count() * 0.6
    assert followers[len(followers) // 2] < followers[-1] / 4


def test_the_fixed_accounts_follow_whom_they_should(small):
    follows = {
        handle: set(
            Followee.objects.filter(owner__handle=handle).values_list("followee__handle", flat=True)
        )
        for handle in ("alice", "bob", "carol")
    }
    assert 20 <= len(follows["alice"]) <= 30
    assert "alice" in follows["bob"]
    assert 1 <= len(follows["carol"]) <= 5


def test_mentions_and_kinds_are_as_publishing_makes_them(small):
    handles = set(User.objects.values_list("handle", flat=True))
    for post in Post.objects.prefetch_related("mentions__user", "attachments"):
        named = {mention.user.handle for mention in post.mentions.all()}
        assert named == set(mentioned_handles(post.body)) & handles
        pictures = post.attachments.count()
        assert (post.kind == Kind.PICTURE) == bool(pictures and not post.source_id)
        assert (post.kind == Kind.REPOST) == bool(post.source_id and not post.body)
        assert (post.kind == Kind.QUOTE) == bool(post.source_id and post.body)


def test_pictures_are_files_and_are_described(small):
    for attachment in Attachment.objects.all():
        assert attachment.alt
        assert default_storage.exists(str(attachment.file))
    assert default_storage.exists(str(User.objects.get(handle="patch_the_cat").avatar))


def test_the_first_page_of_alice_is_like_the_mock(small):
    page = home_timeline(user_by_handle("alice"), Cursor(limit=20))
    first, second = page.items[:2]
    assert (first.shown.author.handle, NOW - first.post.created_at.timestamp()) == ("xiaoman", 240)
    assert (second.author.handle, second.shown.author.handle) == ("theo", "mara")
    assert NOW - second.shown.post.created_at.timestamp() == 21 * 60
    chenmo = next(item for item in page.items if item.author.handle == "chenmo")
    assert NOW - chenmo.post.created_at.timestamp() == 38 * 60
    assert unread_count(user_by_handle("alice")) == 3


def test_posts_lie_within_thirty_days_and_not_in_the_future(small):
    ages = [
        NOW - created.timestamp() for created in Post.objects.values_list("created_at", flat=True)
    ]
    assert 0 < min(ages) < 300
    assert 25 * 86_400 < max(ages) <= 30 * 86_400
    for model in (Like, Bookmark, Followee):
        assert all(
            made.timestamp() <= NOW for made in model.objects.values_list("created_at", flat=True)
        )
    assert not Like.objects.filter(created_at__lt=F("post__created_at")).exists()


def test_only_the_fixed_accounts_can_log_in(small, settings):
    usable = {user.handle for user in User.objects.all() if user.has_usable_password()}
    assert usable == {"alice", "bob", "carol", "admin"}
    # made once for the module, before the tests' quick hasher was set
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    assert authenticate(username="alice", password="rill-demo") is not None
    assert set(
        User.objects.filter(Q(is_staff=True) | Q(is_superuser=True)).values_list(
            "handle", flat=True
        )
    ) == {"admin"}


def test_every_post_has_its_delivery_and_explanations_tell_the_story(small):
    assert FanoutJob.objects.count() == Post.objects.count()
    alice = user_by_handle("alice")
    page = explain_home(alice, Cursor(limit=40))
    sources = {found.reason for found in page.items}
    assert Reason.PUSH in sources
    assert not sources & {Reason.REBUILT, Reason.STORAGE}  # alice was there all the time
    for found in page.items:
        if found.reason == Reason.PUSH and found.when:
            assert second_of(found.item.id) < found.when.timestamp() < second_of(found.item.id) + 60
    while page.older and Reason.BACKFILL not in sources:
        page = explain_home(alice, Cursor(limit=40, max_id=page.older))
        sources |= {found.reason for found in page.items}
    assert Reason.BACKFILL in sources
    run = auditor.run_once()
    assert run.deliveries >= min(DELIVERIES, Post.objects.count())
    # counts: another test's Redis does not know the demo
    assert not run.findings.exclude(kind="count").exists()
