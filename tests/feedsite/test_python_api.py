"""The feed for other Python code does what pages and the API do."""

import subprocess
import sys

import pytest

from apps.errors import BadRequest, Invalid, NotAllowed, NotFound
from apps.graph.actions import block_user
from apps.posts.models import Post
from feedsite.python_api import add_activity, follow, get_activity, unfollow
from tests.support.factories import deliver, make_user
from tests.support.processes import environment

pytestmark = pytest.mark.django_db

# The example of the documentation, as somebody would run it.
EXAMPLE = """
import django; django.setup()
from feedsite.python_api import add_activity, follow, get_activity

follow("bob", "alice")
post = add_activity("alice", "post", "The river is high today.")
assert [item.id for item in get_activity("alice").items] == [post]
place = get_activity("bob").last_id
print(place.split("-")[0])
"""


def ids(activity):
    return [item.id for item in activity.items]


def test_the_example_of_the_documentation_runs(transactional_db):
    make_user("alice")
    make_user("bob")
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLE],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


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


def test_refusals_are_those_of_the_site(alice, carol):
    post = add_activity(alice, "post", "One.")
    block_user(alice, carol)
    for refused, call in (
        (Invalid, lambda: add_activity(alice, "shout", "x")),
        (Invalid, lambda: add_activity(alice, "post", "x", target=post)),
        (Invalid, lambda: add_activity(alice, "repost")),
        (Invalid, lambda: add_activity(alice, "post", "")),
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
