"""The readers and authors of this suite: a follow graph of 256,491 people, and readers of the most followed ones.

Some readers follow busy authors, others follow authors who fell silent: 500 each, out of 2,500, so that no two readers
get the same page. The silent authors wrote before a crowd of others wrote a million posts: the worst case of a query
that walks the newest posts backwards until it has a page.
"""

import time
from dataclasses import dataclass
from functools import cache

from django.db import connection
from django.test import Client
from django.utils.crypto import get_random_string

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.accounts.tasks import maintain_counts as tend_user_counts
from apps.engagement.cache import BOOKMARKS, LIKES
from apps.engagement.tasks import maintain_filters
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.models import Post
from apps.posts.tasks import maintain_counts
from feedcache.structures import bloom
from tools.bench.population import add_posts, deliver_owed, make_follower
from tools.bench.progress import doing
from tools.bench.site.graph import graph, load_graph

READERS, FOLLOWEES, POSTS_EACH = 40, 500, 50
# authors: the most followed, the next ones, and the ones after
BUSY, QUIET, CROWD = 2500, 2500, 2000
CROWD_POSTS = 1_000_000
ANSWERS = 20  # replies to the post whose thread is read
APART = 97  # seconds between two posts of an author
FILTERS_SECONDS = 60


@dataclass(frozen=True, slots=True)
class People:
    graph: str  # its name
    busy: list[int]
    quiet: list[int]
    crowd: list[int]
    others: list[int]  # authors without posts
    now: int  # the time of its creation, in seconds

    @property
    def authors(self) -> list[int]:
        return self.busy + self.quiet + self.crowd

    @property
    def everybody(self) -> list[int]:
        return self.authors + self.others


@dataclass(frozen=True, slots=True)
class Readers:
    users: list[User]
    tokens: list[str]


@dataclass(frozen=True, slots=True)
class World:
    """Readers, the cookies of the busy ones' browsers, an author with posts, and a post with replies."""

    people: People
    busy: Readers
    quiet: Readers
    cookies: list[str]
    author: User
    post: Post


_written = {"crowd": 0}  # posts of each author in the crowd


@cache
def people() -> People:
    """The graph, and the posts of the silent authors."""
    found = graph()
    if found.people < BUSY + QUIET + CROWD:
        raise SystemExit(
            f"{found.name} has {found.people:,} people; {BUSY + QUIET + CROWD:,} are needed."
        )
    doing(f"{found.people:,} people and {len(found.followers):,} follows")
    ids = load_graph(found).tolist()
    busy, quiet = ids[:BUSY], ids[BUSY : BUSY + QUIET]
    crowd, others = ids[BUSY + QUIET :][:CROWD], ids[BUSY + QUIET + CROWD :]
    made = People(found.name, busy, quiet, crowd, others, int(time.time()))
    doing("posts of silent authors")
    add_posts(quiet, range(1, POSTS_EACH + 1), begin=_begin(made, quiet=True), apart=APART)
    analyse()
    settle()
    return made


def write_crowd(posts: int) -> None:
    """Let the crowd write until it has written this many posts in all."""
    here, before, after = people(), _written["crowd"], posts // CROWD
    if after > before:
        doing(f"{posts:,} posts of others")
        numbers = range(before + 1, after + 1)
        add_posts(here.crowd, numbers, begin=_begin(here, crowd=True), apart=APART)
        _written["crowd"] = after
        analyse()


@cache
def world() -> World:
    """The whole world; making it takes about two minutes."""
    here = people()
    write_crowd(CROWD_POSTS)
    doing("posts of busy authors, and readers")
    add_posts(here.busy, range(1, POSTS_EACH + 1), begin=_begin(here), apart=APART)
    busy = make_readers("busy_reader", here.busy, FOLLOWEES)
    quiet = make_readers("quiet_reader", here.quiet, FOLLOWEES)
    author = User.objects.get(pk=here.busy[0])
    post = Post.objects.filter(author=author).latest("pk")
    for number, user in enumerate(User.objects.filter(pk__in=here.busy[1 : ANSWERS + 1])):
        publish_post(user, Draft(body=f"Answer number {number}.", reply_to_id=post.pk))
    analyse()
    settle()
    cookies = [_cookie(reader) for reader in busy.users]
    return World(here, busy, quiet, cookies, author, post)


def make_readers(
    handle: str, authors: list[int], followees: int, maximum: int | None = None
) -> Readers:
    """Accounts that follow some of the authors, `READERS` by default."""
    numbers = range(maximum or READERS)
    users = [make_follower(f"{handle}{number}", authors, followees) for number in numbers]
    return Readers(users, [issue_token(user, name="bench") for user in users])


def author_with(handle: str, followers: list[int]) -> tuple[User, str]:
    """A new account with these followers, none of them in this suite; and its token."""
    author = make_follower(handle, [])
    values: dict[str, int | list[int]] = {
        "author": author.pk,
        "followers": followers,
        "maximum": len(followers),
    }
    with connection.cursor() as sql:
        for statement in _FOLLOWED.split(";"):
            sql.execute(statement, values)
    return user_by_handle(handle), issue_token(author, name="bench")


_FOLLOWED = """
INSERT INTO graph_follower (owner_id, follower_id, created_at)
SELECT %(author)s, unnest(%(followers)s::bigint[]), now();
INSERT INTO graph_followee (owner_id, followee_id, created_at)
SELECT unnest(%(followers)s::bigint[]), %(author)s, now();
UPDATE accounts_usercounts SET followers = %(maximum)s,
followers_revision = followers_revision + 1, revision = revision + 1
WHERE user_id = %(author)s
"""


def analyse() -> None:
    """Update the planner's statistics, as autovacuum would in time."""
    with connection.cursor() as sql:
        sql.execute("SET statement_timeout = 0")
        sql.execute(
            "VACUUM ANALYZE posts_post, accounts_user, accounts_usercounts, graph_followee, graph_follower"
        )
        sql.execute("CHECKPOINT")


def settle() -> None:
    """Do the work that workers would have done by now: deliveries, and counts and existence filters in Redis."""
    deliver_owed()
    deadline = time.monotonic() + FILTERS_SECONDS
    for tend in (maintain_counts, tend_user_counts):
        tend()
    while not _filters_done():
        if time.monotonic() > deadline:
            raise RuntimeError("the existence filters were not built in time")
        time.sleep(0.2)


def _filters_done() -> bool:
    """Continue building the existence filters. Returns whether all are complete."""
    maintain_filters()
    return all(bloom.read_state(marks.name).live for marks in (LIKES, BOOKMARKS))


def _begin(here: People, *, quiet: bool = False, crowd: bool = False) -> int:
    """The second before the first post of an author; silent authors, crowd and busy authors post in this order."""
    span = (POSTS_EACH + 1) * APART
    crowd_span = (CROWD_POSTS // CROWD + 1) * APART
    if quiet:
        return here.now - 2 * span - crowd_span - 3600
    return here.now - span - crowd_span - 1800 if crowd else here.now - span - 60


def _cookie(user: User) -> str:
    """The session cookie, and a token for forms, as the first page of the site sets it."""
    client = Client()
    client.force_login(user)
    return f"sessionid={client.cookies['sessionid'].value}; csrftoken={get_random_string(32)}"
