"""What benchmarks put into PostgreSQL in bulk is what the site would have written."""

import numpy as np
import pytest
from django.db.models import Count

from apps.accounts.models import UserCounts
from apps.events.models import Event
from apps.graph.models import Followee, Follower
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.models import Post
from feedcache.ids import author_of, second_of
from tests.support.factories import make_user
from tools.bench.population import add_posts, deliver_owed, forget_owed, make_follower
from tools.bench.site.graph import load_graph, make_graph

pytestmark = pytest.mark.django_db
BEGIN = 1_790_000_000


def test_a_graph_is_loaded_into_both_tables_with_its_counts():
    made = make_graph(people=60, followed=12, maximum=30)
    ids = load_graph(made)
    edges = set(Followee.objects.values_list("owner_id", "followee_id"))
    assert len(edges) == len(made.followers)
    assert set(Follower.objects.values_list("follower_id", "owner_id")) == edges
    counted = dict(UserCounts.objects.values_list("user_id", "followers"))
    followers = [counted[pk] for pk in ids.tolist()]
    assert followers == sorted(followers, reverse=True)
    assert followers[0] == np.bincount(made.followees).max()
    following = dict(Followee.objects.values_list("owner_id").annotate(Count("pk")))
    assert all(
        one.following == following.get(one.pk, 0) for one in UserCounts.objects.filter(pk__in=ids)
    )


def test_posts_are_written_as_the_site_numbers_them(alice, bob):
    authors = [alice.pk, bob.pk]
    add_posts(authors, range(1, 4), begin=BEGIN, apart=97)
    add_posts(authors, range(4, 6), begin=BEGIN, apart=97)
    posts = list(Post.objects.order_by("pk"))
    assert len(posts) == 2 * 5
    assert all(author_of(post.pk) == post.author_id for post in posts)
    assert all(second_of(post.pk) == post.created_at.timestamp() for post in posts)
    assert all(0 <= second_of(post.pk) - BEGIN < 6 * 97 for post in posts)
    counts = UserCounts.objects.get(pk=alice.pk)
    assert (counts.posts, counts.outbox_revision) == (5, 2)
    assert counts.last_post_id == max(post.pk for post in posts if post.author_id == alice.pk)


def test_a_follower_follows_some_and_both_sides_know(alice, bob, carol):
    authors = [alice.pk, bob.pk, carol.pk]
    before = dict(UserCounts.objects.values_list("user_id", "followers"))
    reader = make_follower("reader", authors, 2)
    followed = set(Followee.objects.filter(owner=reader).values_list("followee_id", flat=True))
    assert len(followed) == 2
    assert followed < set(authors)
    assert UserCounts.objects.get(pk=reader.pk).following == 2
    after = dict(UserCounts.objects.values_list("user_id", "followers"))
    assert {pk for pk in authors if after[pk] == before[pk] + 1} == followed


@pytest.mark.django_db(transaction=True)
def test_what_is_owed_is_dropped():
    author = make_user("alice")
    publish_post(author, Draft(body="Words."))
    deliver_owed()
    done = Event.objects.count()
    publish_post(author, Draft(body="More words."))
    assert Event.objects.count() > done
    forget_owed()
    assert Event.objects.count() == done
