"""Posts, as the unmodified clients write and read them: pictures, polls, edits, threads, marks, later ones."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.flows.clients import Toot, mastodon
from tests.support.factories import delivered
from tests.support.pictures import picture

pytestmark = [pytest.mark.usefixtures("media"), pytest.mark.flows]


@pytest.fixture
def drawing(tmp_path):
    path = tmp_path / "wall.png"
    path.write_bytes(picture())
    return str(path)


def test_mastodon_py_posts_pictures_and_edits_them(served, alice):
    program = mastodon(alice, served)
    media = program.media_post(picture(), "image/png", description="A wall", focus=(0.5, 0.5))
    assert program.media(media.id).description == "A wall"
    media = program.media_update(media.id, description="A red wall")
    status = program.status_post("Look.", media_ids=[media], sensitive=True, spoiler_text="walls")
    assert [one.description for one in status.media_attachments] == ["A red wall"]
    assert (status.sensitive, status.spoiler_text) == (True, "walls")
    edited = program.status_update(status.id, "Look again.", media_ids=[media])
    assert edited.edited_at
    assert [one.id for one in edited.media_attachments] == [media.id]
    assert [one.content for one in program.status_history(status.id)] == [
        "<p>Look.</p>", "<p>Look again.</p>",
    ]  # fmt: skip
    assert program.status_source(status.id).text == "Look again."
    assert [one.id for one in program.account_statuses(alice.pk, only_media=True)] == [status.id]
    assert program.status_delete(status.id).text == "Look again."


def test_mastodon_py_asks_and_votes(served, alice, bob):
    mine, theirs = mastodon(alice, served), mastodon(bob, served)
    asked = mine.make_poll(["Red", "Green"], expires_in=300, multiple=True)
    status = mine.status_post("Which?", poll=asked)
    assert [one.title for one in status.poll.options] == ["Red", "Green"]
    after = theirs.poll_vote(status.poll.id, [0, 1])
    assert (after.votes_count, after.voters_count, after.own_votes) == (2, 1, [0, 1])
    assert theirs.poll(status.poll.id).voted is True


def test_mastodon_py_talks_in_a_thread_and_marks_posts(served, alice, bob):
    mine, theirs = mastodon(alice, served), mastodon(bob, served)
    status = mine.status_post("First.")
    assert status.application.name == "A program"
    answer = theirs.status_reply(status, "Second.")
    assert answer.in_reply_to_id == status.id
    assert [one.id for one in mine.status_context(status.id).descendants] == [answer.id]
    assert [one.id for one in mine.status_context(answer.id).ancestors] == [status.id]
    for act, undo, flag in (
        ("favourite", "unfavourite", "favourited"), ("bookmark", "unbookmark", "bookmarked"),
        ("mute", "unmute", "muted"),
    ):  # fmt: skip
        assert getattr(theirs, f"status_{act}")(status.id)[flag] is True
        assert getattr(theirs, f"status_{undo}")(status.id)[flag] is False
    theirs.status_favourite(status.id)
    shared = theirs.status_reblog(status.id)
    assert (shared.reblog.id, shared.reblog.favourites_count) == (status.id, 1)
    assert [one.username for one in mine.status_favourited_by(status.id)] == ["bob"]
    assert [one.username for one in mine.status_reblogged_by(status.id)] == ["bob"]
    assert [one.id for one in theirs.favourites()] == [status.id]
    theirs.status_unreblog(status.id)
    assert mine.status_pin(status.id).pinned is True
    assert [one.id for one in theirs.account_statuses(alice.pk, pinned=True)] == [status.id]
    assert mine.status_unpin(status.id).pinned is False
    assert [one.id for one in mine.statuses([answer.id, status.id])] == [answer.id, status.id]
    for flags in ({"exclude_replies": True}, {"exclude_reblogs": True}):
        assert mine.account_statuses(alice.pk, **flags)[0].id == status.id


def test_mastodon_py_writes_for_later(served, alice):
    program = mastodon(alice, served)
    media = program.media_post(picture(), "image/png")
    at = timezone.now() + timedelta(hours=1)
    waiting = program.status_post("Later.", media_ids=[media.id], scheduled_at=at)
    assert [one.id for one in program.scheduled_statuses()] == [waiting.id]
    assert program.scheduled_status(waiting.id).media_attachments[0]["id"] == media.id
    moved = program.scheduled_status_update(waiting.id, at + timedelta(hours=1))
    assert moved.scheduled_at > at + timedelta(minutes=59)
    program.scheduled_status_delete(waiting.id)
    assert program.scheduled_statuses() == []


def test_toot_posts_marks_and_asks(served, tmp_path, alice, bob, drawing):
    toot = Toot(tmp_path)
    toot.log_in(bob, served)
    post = delivered(alice, "What alice says.")
    for act in ("favourite", "unfavourite", "reblog", "unreblog", "bookmark", "unbookmark"):
        assert toot(act, str(post.pk))
    assert "@alice" in toot("thread", str(post.pk))
    made = json.loads(toot("post", "A wall.", "--media", drawing, "--description", "Red", "--json"))
    assert made["media_attachments"][0]["description"] == "Red"
    asked = json.loads(
        toot("post", "Which?", "--poll-option", "Red", "--poll-option", "Green", "--json")
    )
    assert [one["title"] for one in asked["poll"]["options"]] == ["Red", "Green"]
    assert toot("pin", made["id"])
    assert toot("unpin", made["id"])
    assert "A wall." in toot("status", made["id"])
    assert toot("delete", made["id"])
