"""Parts of pages that readers share: nothing of one reader is on another's page, and what changes shows at once."""

import re
from html import unescape

import pytest
from django.utils.safestring import SafeString
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.actions import update_settings
from apps.accounts.models import Theme
from apps.graph.actions import block_user, follow_user
from apps.notifications.actions import mark_read
from apps.notifications.queries import latest_notification_id
from apps.web import fragments
from apps.web.fragments import compact, render_fragment
from tests.support.factories import deliver, make_user, publish, suspend

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]


@pytest.fixture(autouse=True)
def _no_fragments():
    for cached in (fragments._render_cached, fragments._render_own_cached):
        cached.cache_clear()


@pytest.fixture
def post(alice, bob, carol):
    """Of carol, whom alice follows and bob does not."""
    follow_user(alice, carol)
    written = publish(carol, "A morning at the river.")
    publish(bob, "Tea.")
    deliver()
    return written


def tokens_of(page):
    return set(re.findall(r'(?:csrfmiddlewaretoken|idempotency_key)" value="([^"]+)"', page))


@pytest.mark.parametrize("path", ["/", "/@carol", "/@carol/{post}"])
def test_nothing_of_one_reader_is_on_the_page_of_another(path, post, alice, bob, page_of):
    path = path.format(post=post.pk)
    alice_page, bob_page = page_of(alice), page_of(bob)
    first = alice_page.get(path).text
    for _again in range(2):
        hers, his = alice_page.get(path).text, bob_page.get(path).text
        visitors = page_of(None).get(path).text
        assert 'class="me" href="/@alice"' in hers
        assert 'class="me" href="/@bob"' in his
        # bob follows alice, who follows carol
        assert "/@alice" not in re.sub(
            r'<p class="facts familiar">.*?</p>', "", his, flags=re.DOTALL
        )
        assert 'class="me"' not in visitors
        assert "/@alice" not in visitors
        assert "/logout" not in visitors
        assert not tokens_of(first) & tokens_of(hers)
        assert tokens_of(hers)
        assert not tokens_of(hers) & (tokens_of(his) | tokens_of(visitors))
    assert ('formaction="/@carol/unfollow"' in hers) == (path == "/@carol")
    assert 'formaction="/@carol/unfollow"' not in his


def test_what_a_reader_chooses_shows_at_once(post, alice, page_of):
    browser = page_of(alice)
    assert 'lang="en"' in browser.get("/").text
    update_settings(
        alice, interface_language="zh-hans", theme=Theme.DARK, post_visibility="unlisted"
    )
    page = browser.get("/").text
    assert '<html lang="zh-hans" dir="ltr" data-theme="dark"' in page
    assert '<option value="unlisted" selected>' in page
    assert ">Home<" not in page
    assert ">Bookmarks<" not in page


def test_the_badge_is_live(post, alice, bob, page_of):
    browser = page_of(alice)
    mark_read(alice, latest_notification_id(alice))
    for path in ("/", "/@carol"):
        assert 'class="count"' not in browser.get(path).text
    follow_user(make_user("dora"), alice)
    deliver()
    for path in ("/", "/@carol"):
        assert browser.get(path).text.count('<span class="sr">unread: </span>1<') == 2
    mark_read(alice, latest_notification_id(alice))
    assert 'class="count"' not in browser.get("/").text


def test_suggestions_go_at_once(post, alice, bob, page_of):
    browser = page_of(alice)
    dora = make_user("dora")
    publish(dora, "Hello.")
    suggested = 'formaction="/@{}/follow"'.format
    for _warm in range(2):
        page = browser.get("/").text
        assert suggested("bob") in page
        assert suggested("dora") in page
    block_user(bob, alice)
    page = browser.get("/").text
    assert suggested("bob") not in page
    assert suggested("dora") in page
    suspend(dora)
    assert suggested("dora") not in browser.get("/").text


def test_a_suspended_follower_is_not_named(post, alice, bob, carol, page_of):
    emil, fritz = make_user("emil"), make_user("fritz")
    for friend in (bob, emil, fritz):
        follow_user(alice, friend)
        follow_user(friend, carol)
    browser = page_of(alice)
    for _warm in range(2):
        assert "1 other you follow" in browser.get("/@carol").text
    suspend(bob)
    page = browser.get("/@carol").text
    familiar = page[page.index('class="facts familiar"') :].split("</p>")[0]
    assert "/@bob" not in familiar
    assert "/@emil" in familiar
    assert "/@fritz" in familiar


def test_text_is_escaped_although_the_same_text_was_safe():
    assert "<b>" in render_fragment("_brand.html", site_name=SafeString("<b>"))
    assert "<b>" not in render_fragment("_brand.html", site_name="<b>")


@given(st.text())
def test_references_stand_for_the_same_characters(text):
    assert unescape(compact(text)) == unescape(text)


def test_rare_characters_do_not_widen_all_others():
    """Python uses four bytes for each character of a string with an emoji, and two with an ellipsis."""
    card = "<p>" + "words " * 100 + "👍…</p>"
    assert compact(card).isascii()
    assert compact("中文👍") == "中文&#128077;"
