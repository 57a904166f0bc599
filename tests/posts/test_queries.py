"""The gate: what `visible_posts` lets through, compared with an oracle that shares no code with it."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.cache import CACHED_POSTS, load_contents, open_contents
from apps.posts.models import Post
from apps.posts.queries import MAX_IDS, reposted_ids, visible_posts
from feedcache.memcached_tiers import tiers
from tests.support.factories import make_user, publish, repost
from tests.support.faults import dead_memcached
from tests.support.locks import sessions_that_wait_for_a_lock
from tests.support.memory import flush
from tests.support.services import running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db

VISIBILITIES = ["public", "unlisted", "followers", "mentioned"]
VIEWERS = ["nobody", "author", "follower", "stranger", "named", "named follower"]
STATES = [
    "normal",
    "deleted",
    "suspended",
    "author blocks viewer",
    "viewer blocks author",
    "unfollowed",
]


def oracle(viewer, visibility, state):
    """The rule in words: plain, slow, and written without looking at the gate."""
    if state in {"deleted", "suspended"}:
        return False
    if viewer == "author":
        return True
    if state in {"author blocks viewer", "viewer blocks author"} and viewer != "nobody":
        return False
    if visibility in {"public", "unlisted"}:
        return True
    if "named" in viewer:
        return True
    return visibility == "followers" and "follower" in viewer and state != "unfollowed"


@pytest.mark.long
@pytest.mark.gate
def test_the_gate_agrees_with_the_rule_for_every_kind_of_viewer(case):
    author = make_user()
    people = {viewer: make_user() for viewer in VIEWERS if viewer not in {"nobody", "author"}}
    people["author"] = author
    for viewer in ("follower", "named follower"):
        follow_user(people[viewer], author)
    body = " ".join(f"@{people[viewer].handle}" for viewer in ("named", "named follower"))
    for visibility, state in product(VISIBILITIES, STATES):
        with case(visibility=visibility, state=state):
            post = publish(author, f"hello {body}", visibility=visibility)
            for person in people.values():
                visible_posts(person.pk, [post.pk])  # whatever is cached must not help
            bring_about(state, author, people, post)
            for viewer in VIEWERS:
                viewer_id = people[viewer].pk if viewer in people else None
                seen = post.pk in visible_posts(viewer_id, [post.pk]).posts
                assert (viewer, seen) == (viewer, oracle(viewer, visibility, state))


def bring_about(state, author, people, post):
    others = [person for person in people.values() if person != author]
    if state == "deleted":
        delete_post(post.pk, by=author)
    elif state == "suspended":
        User.objects.filter(pk=author.pk).update(suspended_at=timezone.now())
    for other in others:
        if state == "author blocks viewer":
            block_user(author, other)
        elif state == "viewer blocks author":
            block_user(other, author)
        elif state == "unfollowed":
            unfollow_user(other, author)


def test_a_repost_of_what_may_not_be_seen_may_not_be_seen(alice, bob, carol):
    source = publish(carol)
    wrapper = repost(alice, source.pk)
    assert set(visible_posts(bob.pk, [wrapper.pk]).posts) == {wrapper.pk, source.pk}
    block_user(carol, bob)
    assert set(visible_posts(bob.pk, [wrapper.pk]).posts) == set()
    delete_post(source.pk, by=carol)
    assert set(visible_posts(alice.pk, [wrapper.pk]).posts) == set()


@pytest.mark.parametrize("post_id", [0, -1, 5, 2**63 - 1, 2**63, 10**30])
def test_an_id_that_cannot_be_is_absent(alice, post_id):
    assert visible_posts(alice.pk, [post_id]).posts == {}


def test_a_call_is_bounded(alice):
    with pytest.raises(ValueError, match="at most"):
        visible_posts(alice.pk, range(MAX_IDS + 1))


@pytest.mark.parametrize("number", [1, 30])
def test_the_gate_costs_the_same_queries_however_many_are_asked(
    alice, bob, number, django_assert_num_queries
):
    ids = [publish(alice, f"post {n} @bob").pk for n in range(number)]
    ids += [publish(alice, visibility="followers").pk]
    visible_posts(bob.pk, ids)
    # posts, who is named and who follows; the restricted one's body, pictures and mentions from PostgreSQL
    with django_assert_num_queries(4 if running().memcached else 5):
        assert len(visible_posts(bob.pk, ids).posts) == number + 1


def cached(post_id):
    head = CACHED_POSTS.peek_many([post_id]).get(post_id)
    return head and head.content


def name_of(post_id):
    return CACHED_POSTS.name_of(post_id, tiers())


@pytest.mark.usefixtures("memcached")
@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_only_open_posts_are_in_memcached(alice, bob, visibility):
    post = publish(alice, "hello @bob", visibility=visibility)
    for viewer in (alice, bob, None):
        visible_posts(viewer and viewer.pk, [post.pk])
    assert bool(cached(post.pk)) == (visibility in {"public", "unlisted"})


@pytest.mark.usefixtures("memcached")
def test_a_poisoned_entry_of_a_restricted_post_is_never_read(alice, bob):
    post = publish(alice, "secret", visibility="followers")
    tiers().set_many({name_of(post.pk): b"garbage"}, ttl_seconds=60)
    assert visible_posts(bob.pk, [post.pk]).posts[post.pk].body == "secret"
    assert visible_posts(None, [post.pk]).posts == {}


@pytest.mark.usefixtures("memcached")
def test_an_edit_takes_the_place_of_the_old_entry(alice):
    post = publish(alice, "before")
    assert visible_posts(None, [post.pk]).posts[post.pk].body == "before"
    edit_post(alice, post.pk, body="after")
    assert cached(post.pk).version == 2  # written after the commit
    assert visible_posts(None, [post.pk]).posts[post.pk].body == "after"


def test_bodies_are_read_from_postgresql_when_memcached_is_dead(alice):
    post = publish(alice, "hello")
    with dead_memcached():
        assert visible_posts(None, [post.pk]).posts[post.pk].body == "hello"


def interrupt(table, change):
    """Call `change` once, right after the first query that reads `table`."""
    done: list[bool] = []

    def wrapper(execute, sql, params, many, context):
        answer = execute(sql, params, many, context)
        if not done and f"FROM {table} " in sql:
            done.append(True)
            change()
        return answer

    return connection.execute_wrapper(wrapper)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", ["posts_mention", "posts_attachment"])
def test_an_edit_during_a_load_never_puts_old_parts_under_the_new_version(alice, carol, table):
    post = publish(alice, "hello @bob")

    def load():
        try:
            return load_contents([post.pk])[post.pk]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            loading = pool.submit(load)
            wait_until(
                sessions_that_wait_for_a_lock, "the reader waits for the table"
            )  # it has read the post, not what belongs to it
            edit_post(alice, post.pk, body="hello @carol")
        content = loading.result(20)
    # under the new version the old mentions would stay cached
    assert (content.version, content.mentions) == (1, {"carol": carol.pk})


def test_all_who_still_ask_for_the_version_before_an_edit_get_the_newer_one(alice):
    """The gate told them of a version that was gone when it was loaded. That must not be remembered as absence."""
    post = publish(alice, "first")
    seen_by_the_gate = {post.pk: post.version}
    edit_post(alice, post.pk, body="second")
    flush()  # nor is it in the caches any more
    for _reader in range(3):
        found = open_contents(seen_by_the_gate)
        assert [content.body for content in found.values()] == ["second"]


def test_a_delete_during_a_load_shows_nothing(alice):
    post = publish(alice)
    with interrupt("posts_post", lambda: delete_post(post.pk, by=alice)):
        found = visible_posts(None, [post.pk])
    assert all(content.body for content in found.posts.values())


def test_counts_come_with_the_posts(alice, bob):
    post = publish(alice)
    publish(bob, reply_to_id=post.pk)
    repost(bob, post.pk)
    counts = visible_posts(None, [post.pk]).counts[post.pk]
    assert (counts.replies, counts.reposts, counts.likes) == (1, 1, 0)


def test_a_viewers_reposts_are_known(alice, bob):
    post = publish(alice)
    wrapper = repost(bob, post.pk)
    assert reposted_ids(bob.pk, [post.pk, wrapper.pk]) == {post.pk: wrapper.pk}
    assert reposted_ids(alice.pk, [post.pk]) == {}
    assert reposted_ids(None, [post.pk]) == {}
    delete_post(wrapper.pk, by=bob)
    assert reposted_ids(bob.pk, [post.pk]) == {}
    assert Post.objects.filter(pk=wrapper.pk).exists()
