"""Accounts that their owners delete: nobody sees them any more at once, and nothing is left soon after."""

import io
from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings as site
from django.db import connection
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp_webauthn.models import WebAuthnCredential, WebAuthnUserHandle

from apps.accounts.actions import register, update_profile
from apps.accounts.authentication.second_factor import new_codes
from apps.accounts.email.confirmation import change_email
from apps.accounts.models import AccessToken, User, UserCounts
from apps.engagement.actions import like_post
from apps.engagement.models import Like
from apps.errors import Invalid, NotAllowed
from apps.events.leases import State
from apps.feeds.models import Feed
from apps.graph.models import Block, Followee
from apps.moderation.actions import restore_user
from apps.posts.models import Poll, Post, PostCounts
from apps.privacy import erasure
from apps.privacy.erasure import delete_account
from apps.privacy.models import Erasure, ImportKind
from apps.privacy.moving.imports import request_import
from feedcache.connections import timelines
from tests.privacy.conftest import CANARY
from tests.privacy.test_export import made
from tests.support.factories import PASSWORD, deliver, make_user, moderator, publish
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
PAGE = "/settings/delete"
MEANT = {"password": PASSWORD, "is_meant": "on"}
# What may still point at the number of an account: its nameless row and posts, and what staff did and must do.
KEPT = {
    "accounts.UserCounts.user", "admin.LogEntry.user", "graph.Circle.owner", "moderation.Report.target",
    "moderation.Report.resolved_by",
    "privacy.Erasure.user", "posts.Post.author", "timeline.AuthorPolicy.author", "timeline.Backfill.author",
    "timeline.PolicyChange.author",
}  # fmt: skip


def erased(user):
    """Delete an account, and do what the workers would."""
    delete_account(user, password=PASSWORD)
    while erasure.run_due(limit=1):
        Erasure.objects.filter(state=State.PENDING).update(due_at=timezone.now())
    deliver()
    while erasure.run_due(limit=1):
        pass
    erasure.recheck()
    deliver()


def words_of_the_database():
    """Every row of every table, as text."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            for (row,) in cursor.fetchall():
                yield table, row


def words_of_redis():
    client = timelines()
    for key in client.keys("*"):
        yield "redis", str(key) + str(client.dump(key))


def references(user):
    """Which columns point at an account, by the models: new ones are found here too."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.related_model is User:
                rows = model._default_manager.filter(**{field.name: user.pk})
                if rows.exists():
                    yield f"{model._meta.label}.{field.name}"


@pytest.mark.long
@pytest.mark.gate
def test_nothing_is_left(life, tmp_path):
    """I26: every word of hers is looked for in all tables, in Redis and in the files."""
    alice, bob, _carol, _dora = life
    made(alice)
    request_import(alice, ImportKind.BLOCKS, f"{CANARY}.csv", io.BytesIO(f"{CANARY}\n".encode()))
    before = [where for where, text in words_of_the_database() if CANARY in text]
    assert len(set(before)) > 12  # it would be found
    erased(alice)
    left = [(where, text) for where, text in words_of_the_database() if CANARY in text]
    assert left == []
    assert [text for _where, text in words_of_redis() if CANARY in text] == []
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
    assert set(references(alice)) <= KEPT
    assert [feed.include_people for feed in Feed.objects.all()] == [[bob.pk]]  # Carol's
    assert "Bob's own words" in {post.body for post in Post.objects.filter(author=bob)}


@pytest.mark.long
def test_counts_of_others_are_right_afterwards(life):
    alice, bob, carol, _dora = life
    erased(alice)
    for one in (bob, carol):
        counts = UserCounts.objects.get(pk=one.pk)
        assert (counts.followers, counts.following) == (0, 0)
    of_post = PostCounts.objects.get(post__body="Bob's own words")
    assert (of_post.replies, of_post.reposts, of_post.likes, of_post.bookmarks) == (0, 0, 0, 0)
    poll = Poll.objects.get(post__author=bob)
    assert (poll.votes, poll.voters) == ([0, 0], 0)
    assert not Post.objects.filter(source__author=alice, deleted_at=None).exists()


@pytest.mark.long
@pytest.mark.gate
def test_nobody_sees_anything_from_the_next_request_on(life, page_of, api_of):
    alice, bob, _carol, _dora = life
    browser, program = page_of(alice), api_of(alice)
    post = Post.objects.filter(author=alice, deleted_at=None, visibility="public").latest("pk")
    delete_account(alice, password=PASSWORD)  # no worker has done anything yet
    assert page_of(bob).get(f"/@{alice.handle}").status_code == 404
    assert page_of(bob).get(f"/@{alice.handle}/{post.pk}").status_code == 404
    assert CANARY.encode() not in page_of(bob).get("/").content
    assert CANARY.encode() not in page_of(None).get("/public").content
    assert browser.get("/settings/account").status_code == 302
    assert program.get("/api/v1/timelines/home").status_code == 401
    login = {"username": alice.handle, "password": PASSWORD}
    assert page_of(None).post("/login", login).status_code == 422


def test_the_page_says_what_happens_and_asks_for_the_password(alice, page_of):
    browser = page_of(alice)
    page = browser.get(PAGE).content.decode()
    assert 'name="password"' in page
    assert browser.post(PAGE, {"password": PASSWORD}).status_code == 422
    wrong = browser.post(PAGE, {**MEANT, "password": "something else"})
    assert (wrong.status_code, b"This password is wrong." in wrong.content) == (422, True)
    assert User.objects.get(pk=alice.pk).is_active
    answer = browser.post(PAGE, MEANT, follow=True)
    assert answer.redirect_chain == [("/account-deleted", 303)]
    assert b"<h1>Your account has been deleted</h1>" in answer.content
    assert browser.get("/settings/account").status_code == 302


def test_guessing_the_password_is_limited(alice, page_of, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "guess_device": (1, 60)}
    browser = page_of(alice)
    for status in (422, 429):
        assert browser.post(PAGE, {**MEANT, "password": "something else"}).status_code == status


def test_staff_cannot_lock_themselves_out(alice, page_of):
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    answer = page_of(alice).post(PAGE, MEANT)
    assert (answer.status_code, b"Staff accounts" in answer.content) == (422, True)
    alice.refresh_from_db()
    with pytest.raises(NotAllowed):
        delete_account(alice, password=PASSWORD)


def test_the_handle_is_nobody_elses_and_no_row_says_it(alice):
    delete_account(alice, password=PASSWORD)
    with pytest.raises(Invalid) as refusal:
        register(handle="alice", email=None, password=PASSWORD)
    assert set(refusal.value.errors) == {"handle"}
    assert [
        text
        for where, text in words_of_the_database()
        if where == "accounts_user" and "alice" in text
    ] == []


def test_a_nameless_handle_that_is_taken_is_no_trouble(alice):
    make_user(f"deleted_{alice.pk}")
    delete_account(alice, password=PASSWORD)
    assert User.objects.get(pk=alice.pk).handle.startswith(f"deleted_{alice.pk}_")


def test_a_wrong_password_deletes_nothing(alice):
    with pytest.raises(Invalid):
        delete_account(alice, password="no")
    assert not Erasure.objects.exists()
    assert User.objects.get(pk=alice.pk).handle == "alice"


def test_staff_cannot_bring_it_back(alice):
    delete_account(alice, password=PASSWORD)
    with pytest.raises(NotAllowed):
        restore_user(User.objects.get(pk=alice.pk), by=moderator(), reason="A test.")


@pytest.mark.slow
def test_it_goes_on_where_it_was_killed(alice, bob, carol, monkeypatch):
    for number in range(3):
        like_post(carol, publish(alice, f"post {number}").pk)
    delete_account(alice, password=PASSWORD)
    monkeypatch.setattr(erasure, "BATCH", 1)
    monkeypatch.setattr(erasure, "TASK_SECONDS", -1.0)  # one kind of one batch in a turn
    killed, turns = 5, 0
    while Erasure.objects.filter(state=State.PENDING).exists() and turns < 200:
        Erasure.objects.update(due_at=timezone.now() - timedelta(minutes=5))
        if turns == killed:
            monkeypatch.setattr(erasure, "TASK_SECONDS", 10.0)
        erasure.run_due(limit=1)
        turns += 1
    row = Erasure.objects.get()
    assert (row.state, row.attempts, turns) == (State.DONE, 1, killed + 1)
    assert not Post.objects.filter(author=alice, deleted_at=None).exists()
    assert not Followee.objects.filter(followee=alice).exists()


@pytest.mark.slow
def test_what_a_request_wrote_that_was_under_way_is_found_later(alice, carol):
    post = publish(carol)
    erased(alice)
    like_post(alice, post.pk)
    Block.objects.create(owner=carol, blocked=alice)
    erasure.recheck()
    assert not Like.objects.exists()
    assert not Block.objects.exists()


@pytest.mark.slow
def test_a_profile_that_was_saved_meanwhile_is_cleared_later(alice, tmp_path):
    erased(alice)
    update_profile(alice, bio="late", avatar=io.BytesIO(picture()))
    change_email(alice, email="late@example.org", password=PASSWORD)
    erasure.recheck()
    row = User.objects.get(pk=alice.pk)
    assert (row.bio, row.avatar.name, row.email, row.pending_email) == ("", "", None, "")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
    assert Erasure.objects.get().removed["profile"] == 0  # what was blank is no work


def test_a_picture_that_was_saved_just_before_leaves_no_file(alice, tmp_path):
    read_before = User.objects.get(pk=alice.pk)
    update_profile(alice, avatar=io.BytesIO(picture()))
    delete_account(read_before, password=PASSWORD)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_two_requests_delete_an_account_once(alice):
    first, second = (delete_account(alice, password=PASSWORD) for _press in range(2))
    assert first == second
    assert User.objects.get(pk=alice.pk).handle == f"deleted_{alice.pk}"


def test_tokens_end_with_the_account(alice):
    AccessToken.objects.create(user=alice, digest="d" * 64, name="mine")
    delete_account(alice, password=PASSWORD)
    assert not AccessToken.objects.exists()


def test_private_files_lie_outside_of_what_is_served():
    private, media = Path(site.PRIVATE_ROOT), Path(site.MEDIA_ROOT)
    assert media not in [private, *private.parents]


@pytest.mark.slow
def test_second_factors_go_too(alice):
    TOTPDevice.objects.create(user=alice, name="app", confirmed=True)
    new_codes(alice)
    WebAuthnCredential.objects.create(
        user=alice, name="My phone", credential_id=b"x", public_key=b"y", aaguid="z"
    )
    WebAuthnUserHandle.get_handle_for_user(alice)
    erased(alice)
    for model in (TOTPDevice, StaticDevice, StaticToken, WebAuthnCredential, WebAuthnUserHandle):
        assert not model.objects.exists()
