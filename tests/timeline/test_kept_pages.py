"""Pages of which most is kept: what they say is what would be drawn now, for whoever reads them."""

import re

import pytest
from django.shortcuts import render

from apps.accounts.actions import update_profile
from apps.accounts.models import User
from apps.engagement.actions import like_post
from apps.graph.actions import block_user, follow_user
from apps.posts.actions import delete_post
from apps.posts.editing import pin_post
from apps.timeline.views import reading
from tests.factories import deliver, publish

pytestmark = pytest.mark.django_db

CHANGING = re.compile(  # tokens of forms, keys of what is to be sent once, and since when there may be news
    r'(?<=name="csrfmiddlewaretoken" value=")\w+|(?<=name="idempotency_key" value=")[\w-]+|(?<=last_id=)[\w.-]+'
)


@pytest.fixture
def both(monkeypatch):
    """Reads a page kept, twice, and drawn; the same text, which it returns."""

    def drawn(request, name, context, **_names):
        return render(request, name, context)

    def read(browser, address):
        texts = [browser.get(address).text for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(reading, "kept_page", drawn)
            texts.append(browser.get(address).text)
        kept, again, plain = (CHANGING.sub("", text) for text in texts)
        assert kept == again == plain
        assert "\0" not in kept
        return kept

    return read


@pytest.fixture
def said(alice, bob, carol):
    first = publish(alice, "The <first> & “best”.")
    answer = publish(bob, "An answer.", reply_to_id=first.pk)
    publish(alice, "And back.", reply_to_id=answer.pk)
    publish(alice, "Careful.", content_warning="Spiders")
    publish(alice, "For followers.", visibility="followers")
    pin_post(alice, publish(alice, "Pinned.").pk)
    deliver()
    return first, answer


def _of(post):
    return f"/@{post.author.handle}/{post.pk}"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_pages_say_what_would_be_drawn(both, said, alice, bob, carol, page_of, client, language):
    first, answer = said
    like_post(carol, first.pk)
    User.objects.update(interface_language=language)
    browsers = [page_of(alice), page_of(bob), page_of(carol), client]
    client.cookies["django_language"] = language
    for address in (
        "/",
        f"/?max_id={answer.pk}",
        "/?max_id=1",
        "/@alice",
        "/@alice/with_replies",
        "/@alice/media",
        f"/@alice?max_id={answer.pk}",
        "/@carol",
        _of(first),
        _of(answer),
    ):
        found = {both(browser, address) for browser in browsers}
        assert len(found) == len(browsers), address  # to each their own


def test_a_profile_changes_with_what_there_is_between_two_people(both, said, alice, bob, page_of):
    browser = page_of(bob)
    assert "/@alice/unfollow" in both(browser, "/@alice")
    follow_user(alice, bob)
    assert "remove_follower" in both(browser, "/@alice")
    update_profile(alice, display_name="Alice <2>", bio="New here.")
    changed = both(browser, "/@alice")
    assert "Alice &lt;2&gt; (@alice)" in changed
    assert 'content="New here."' in changed
    block_user(bob, alice)
    blocked = both(browser, "/@alice")
    assert "/@alice/unblock" in blocked
    assert "The &lt;first&gt;" not in blocked
    assert both(page_of(alice), "/@alice") != blocked


def test_a_thread_changes_with_its_posts(both, said, alice, bob, page_of):
    first, answer = said
    browser = page_of(bob)
    before = both(browser, _of(first)).count('aria-pressed="true"')
    like_post(bob, first.pk)
    liked = both(browser, _of(first))
    assert liked.count('aria-pressed="true"') == before + 1
    assert f"{_of(first)}/likes" in liked
    delete_post(first.pk, by=alice)
    assert 'class="tombstone"' in both(browser, _of(answer))


def test_what_is_for_some_only_is_named_in_no_head(both, alice, bob, page_of):
    secret = publish(alice, "Between us.", visibility="followers")
    deliver()
    text = both(page_of(bob), f"/@alice/{secret.pk}")
    head, _end, body = text.partition("</head>")
    assert "noindex" in head
    assert "og:" not in head
    assert "Between us." in body
