"""Polls and covered pictures on pages."""

import json

import pytest
from django.core.files.base import ContentFile

from apps.engagement.actions import vote
from apps.engagement.models import Vote
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.posts.actions.drafts import NewPicture, PollDraft
from tests.support.factories import publish

pytestmark = pytest.mark.django_db

NASTY = PollDraft(["<script>alert(1)</script>", '" onclick="x'], 3600)
HTMX = {"HX-Request": "true"}
SEVERAL = PollDraft(["Red", "Green"], 3600, multiple=True)


def test_a_reader_votes_in_a_form_and_sees_the_result(alice, bob, page_of):
    post = publish(alice, "Which?", poll=SEVERAL)
    browser, path = page_of(bob), f"/@alice/{post.pk}"
    assert 'type="checkbox" name="choices"' in browser.get(path).content.decode()
    answer = browser.post(f"/posts/{post.pk}/vote", {"choices": ["0", "1"], "next": path})
    assert (answer.status_code, answer.headers["Location"]) == (303, path)
    after = browser.get(path).content.decode()
    assert 'name="choices"' not in after
    assert after.count("100 %") == 2
    assert "1 person voted" in after
    assert 'name="choices"' not in page_of(alice).get(path).content.decode()
    assert 'name="choices"' not in page_of(None).get(path).content.decode()


def test_a_vote_behind_a_warning_leaves_its_result_open(alice, bob, page_of):
    post = publish(alice, "Which?", poll=SEVERAL, content_warning="Colours")
    browser, path = page_of(bob), f"/@alice/{post.pk}"
    assert '<details class="cw">' in browser.get(path).content.decode()
    browser.post(f"/posts/{post.pk}/vote", {"choices": ["0"], "next": path})
    assert '<details class="cw" open>' in browser.get(path).content.decode()
    assert '<details class="cw">' in page_of(alice).get(path).content.decode()


def test_scripts_get_only_the_poll_with_its_result(alice, bob, page_of):
    post, browser = publish(alice, "Which?", poll=SEVERAL), page_of(bob)
    refused = browser.post(f"/posts/{post.pk}/vote", {"choices": ["9"]}, headers=HTMX)
    assert refused.status_code == 422
    assert 'name="choices"' in refused.text
    assert json.loads(refused["HX-Trigger"])["told"]["text"]
    poll = browser.post(f"/posts/{post.pk}/vote", {"choices": ["1"]}, headers=HTMX)
    assert poll.status_code == 200
    assert "100 %" in poll.text
    assert "<article" not in poll.text
    assert Vote.objects.get().choice == 1


def test_a_refused_vote_says_why_on_the_page(alice, bob, page_of):
    post, browser = publish(alice, "Which?", poll=SEVERAL), page_of(bob)
    for choices in ([], ["x"], ["9"], ["-1"], ["٣"]):
        answer = browser.post(f"/posts/{post.pk}/vote", {"choices": choices}, follow=True)
        assert answer.status_code == 200, choices
        assert [str(message) for message in answer.context["messages"]], choices
    assert not Vote.objects.exists()


def test_options_are_text(alice, bob, page_of):
    post = publish(alice, "Which?", poll=NASTY)
    path = f"/@alice/{post.pk}"
    for reader in (page_of(bob), page_of(alice)):
        page = reader.get(path).content.decode()
        assert "<script>alert" not in page
        assert ' onclick="x' not in page


def test_hidden_numbers_are_not_on_the_page(alice, bob, page_of):
    post = publish(alice, "Which?", poll=PollDraft(["Red", "Green"], 3600, hide_totals=True))
    vote(bob, post.pk, [0])
    page = page_of(bob).get(f"/@alice/{post.pk}").content.decode()
    assert "100 %" not in page
    assert "Your vote" in page


@pytest.mark.parametrize("act", ["blur", "warn"])
def test_a_filter_covers_pictures_or_all(alice, bob, page_of, settings, tmp_path, act):
    settings.MEDIA_ROOT = str(tmp_path)
    words = [KeywordChange(keyword="wall", whole_word=False)]
    create_filter(bob, FilterChange("No walls", ["account"], act=act, keywords=words))
    wall = NewPicture(ContentFile(b"RIFF", name="wall.webp"), width=4, height=3, alt="A wall")
    publish(alice, "Look.", pictures=[wall])
    publish(alice, "Only words of a wall.")
    page = page_of(bob).get("/@alice").text
    pictured = page.partition("Only words of a wall.")[2]
    assert "Filtered: No walls" in pictured
    before, _cover, behind = pictured.partition("Filtered: No walls")
    assert ("Look." in before) is (act == "blur")
    assert 'alt="A wall"' in behind
    assert page.count("Filtered: No walls") == (1 if act == "blur" else 2)


@pytest.mark.parametrize("is_sensitive", [True, False])
def test_sensitive_pictures_are_covered(alice, page_of, settings, tmp_path, is_sensitive):
    settings.MEDIA_ROOT = str(tmp_path)
    wall = NewPicture(ContentFile(b"RIFF", name="wall.webp"), width=4, height=3, alt="A wall")
    publish(alice, "Look.", pictures=[wall], sensitive=is_sensitive)
    page = page_of(None).get("/@alice").content.decode()
    assert 'alt="A wall"' in page
    assert ('<details class="cw">' in page) is is_sensitive
