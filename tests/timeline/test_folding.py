"""Threads that go deep: two levels are shown, the rest comes when asked for."""

import re

import pytest

from apps.timeline.thread import fold_replies, thread
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/@alice/1#p2"}


def reply(author, parent):
    return publish(author, "an answer", reply_to_id=parent.pk)


def rows(post, viewer=None):
    found = thread(viewer and viewer.pk, post.pk)
    return [(row.item.id, row.folded) for row in fold_replies(found.focus, found.descendants)]


def ids_in(page):
    return [int(one) for one in re.findall(r'<article class="post[^"]*" id="p(\d+)"', page)]


@pytest.fixture
def deep(alice, bob, carol):
    """A post, an answer, and a talk of five posts below it."""
    posts = [publish(alice, "The first.")]
    for number in range(6):
        posts.append(reply((bob, carol)[number % 2], posts[-1]))
    return posts


def test_two_levels_are_shown_and_the_rest_is_counted(deep):
    assert rows(deep[0]) == [(deep[1].pk, 0), (deep[2].pk, 4)]
    assert rows(deep[4]) == [(deep[5].pk, 0), (deep[6].pk, 0)]


def test_a_single_answer_is_not_folded(alice, bob, carol):
    first = publish(alice)
    answers = [reply(bob, first)]
    for author in (carol, bob):
        answers.append(reply(author, answers[-1]))
    assert rows(first) == [(one.pk, 0) for one in answers]


def test_all_that_the_author_went_on_to_say_is_shown(alice, bob):
    told = [publish(alice, "One.")]
    for _number in range(5):
        told.append(reply(alice, told[-1]))
    asked = reply(bob, told[3])
    assert rows(told[0]) == [(one.pk, 0) for one in [*told[1:], asked]]


def test_branches_are_counted_apart(alice, bob, carol):
    first = publish(alice)
    talks = []
    for _talk in range(2):
        level = reply(bob, first)
        shown = reply(carol, level)
        for _number in range(2):
            reply(bob, shown)
        talks += [(level.pk, 0), (shown.pk, 2)]
    assert rows(first) == talks


def test_what_a_reader_may_not_see_is_not_counted(alice, bob, carol):
    first = publish(alice)
    shown = reply(carol, reply(bob, first))
    for _number in range(2):
        publish(bob, "Only you.", reply_to_id=shown.pk, visibility="mentioned")
    reply(alice, shown)
    assert [folded for _id, folded in rows(first, make_user())] == [0, 0, 0]


def test_the_page_leads_to_the_rest_and_a_script_puts_it_in(deep, page_of, bob):
    browser = page_of(bob)
    page = browser.get(f"/@alice/{deep[0].pk}").text
    assert ids_in(page) == [post.pk for post in deep[:3]]
    assert "Show 4 more replies" in page
    address = f"/@carol/{deep[2].pk}"
    assert f'<a class="btn sm ghost replies" href="{address}" hx-get="{address}"' in page
    part = browser.get(address, headers=HTMX).text
    assert "<html" not in part
    assert ids_in(part) == [deep[3].pk, deep[4].pk]
    assert "Show 2 more replies" in part
    assert f'formaction="/posts/{deep[3].pk}/like"' in part


def test_only_who_opens_a_post_has_read_it(deep, page_of, bob):
    address, browser = f"/@carol/{deep[2].pk}", page_of(bob)
    for headers, has_read in (HTMX, False), (None, True):
        browser.get(address, headers=headers)
        assert thread(bob.pk, deep[2].pk).focus.flags.read is has_read
