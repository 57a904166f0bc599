"""Who reads and who is read in this suite, made once a run: readers of busy authors, and readers of authors who fell silent.

500 followees each, of a thousand and more, so that no two readers read the same page. The silent ones wrote before a crowd of others
wrote a million posts: the worst case of a query that walks the newest posts backwards until it has a page.
"""

import time
from dataclasses import dataclass
from functools import cache

from django.db import connection
from django.test import Client

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.accounts.tasks import tend_counts as tend_user_counts
from apps.caches import trust
from apps.engagement.cache import BOOKMARKS, LIKES
from apps.engagement.tasks import tend_filters
from apps.posts.models import Post
from apps.posts.tasks import tend_counts
from bench.population import make_reader, write_posts

READERS, FOLLOWEES, POSTS_EACH = 40, 500, 50
BUSY, QUIET = 1000, 2000
CROWD, CROWD_POSTS_EACH = 2000, 500
APART = 97  # seconds between two posts of an author
FILTERS_SECONDS = 30


@dataclass(frozen=True, slots=True)
class World:
    """Tokens of readers, session cookies of the busy ones, an author with posts, and a post with answers."""

    busy: list[str]
    quiet: list[str]
    cookies: list[str]
    readers: list[User]  # the busy ones
    quiet_readers: list[User]
    author: User
    post: Post


@cache
def world() -> World:
    """Make everything; about a minute."""
    now = int(time.time())
    span = (POSTS_EACH + 1) * APART
    crowd_span = (CROWD_POSTS_EACH + 1) * APART
    write_posts("quietx", QUIET, POSTS_EACH, begin=now - span - crowd_span - 3600, apart=APART)
    write_posts("crowdx", CROWD, CROWD_POSTS_EACH, begin=now - crowd_span - 60, apart=APART)
    write_posts("busyx", BUSY, POSTS_EACH, begin=now - span - 60, apart=APART)
    busy = [make_reader(f"busy_reader{n}", "busyx", FOLLOWEES) for n in range(READERS)]
    quiet = [make_reader(f"quiet_reader{n}", "quietx", FOLLOWEES) for n in range(READERS)]
    with connection.cursor() as sql:
        sql.execute(
            "VACUUM ANALYZE posts_post, accounts_user, accounts_usercounts, graph_followee, graph_follower"
        )
    settle()
    author = user_by_handle("busyx1")
    return World(
        [issue_token(reader, name="bench") for reader in busy],
        [issue_token(reader, name="bench") for reader in quiet],
        [_cookie(reader) for reader in busy],
        busy,
        quiet,
        author,
        Post.objects.filter(author=author).latest("pk"),
    )


def settle() -> None:
    """What a worker would have done by now: counts and existence filters in Redis."""
    deadline = time.monotonic() + FILTERS_SECONDS
    for tend in (tend_counts, tend_user_counts):
        tend()
    while not tend_filters_done():
        if time.monotonic() > deadline:
            raise RuntimeError("the existence filters were not built in time")
        time.sleep(0.2)


def tend_filters_done() -> bool:
    """One look after the existence filters; whether all may be believed."""

    tend_filters()
    return all(trust.read(marks.name).live for marks in (LIKES, BOOKMARKS))


def _cookie(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value
