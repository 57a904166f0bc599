"""The follow graph of this suite: a real one from a file, or a random one of the same shape.

The shape is that of the Higgs retweets of SNAP (https://snap.stanford.edu/data/higgs-twitter.html, file
higgs-retweet_network.edgelist.gz): 256,491 accounts, 328,132 edges, one account with 14,060 followers, a median reader
who follows one. Read "a b" as "a follows b".
"""

import gzip
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from apps.accounts.management.bulk import make_accounts
from tools.bench.site import GRAPH

PEOPLE, FOLLOWED, MOST_FOLLOWERS, STEEPNESS = 256_491, 41_426, 14_060, 0.86
ACCOUNTS = 50_000  # created per statement
SEED = 2012

_COUNT = """
UPDATE accounts_usercounts c
SET followers = e.followers, following = e.following, graph_revision = 1, followers_revision = 1, revision = 1
FROM (
    SELECT user_id, sum(followers) AS followers, sum(following) AS following
    FROM (
        SELECT owner_id AS user_id, count(*) AS followers, 0 AS following FROM graph_follower GROUP BY 1
        UNION ALL SELECT owner_id, 0, count(*) FROM graph_followee GROUP BY 1
    ) AS ends GROUP BY 1
) AS e
WHERE c.user_id = e.user_id
"""

Numbers = NDArray[np.int64]


class Graph(NamedTuple):
    """Edges between people numbered from 0: the first follows the second."""

    name: str
    people: int
    followers: Numbers
    followees: Numbers


def graph() -> Graph:
    """The graph from the file, or a generated one."""
    place = os.environ.get(GRAPH)
    return read_graph(Path(place)) if place else make_graph(PEOPLE, FOLLOWED, MOST_FOLLOWERS)


def read_graph(place: Path) -> Graph:
    """The graph of an edge list; anything after the two numbers of a line is ignored."""
    with gzip.open(place, "rt") if place.suffix == ".gz" else place.open() as file:
        lines = (line.split() for line in file if line.strip() and not line.startswith("#"))
        edges = np.array([(int(line[0]), int(line[1])) for line in lines], dtype=np.int64)
    names, numbers = np.unique(edges, return_inverse=True)
    return _clean(place.name, len(names), numbers.reshape(edges.shape))


def make_graph(
    people: int = PEOPLE, followed: int = FOLLOWED, maximum: int = MOST_FOLLOWERS
) -> Graph:
    """A random graph with about as many edges as the real one: rank r has maximum / r^0.86 random followers."""
    dice = np.random.default_rng(SEED)
    sizes = (maximum / np.arange(1, followed + 1) ** STEEPNESS).astype(np.int64)
    followees = np.repeat(np.arange(followed), np.maximum(sizes, 1))
    followers = dice.integers(0, people, len(followees))
    edges = np.stack([followers, followees], axis=1)
    return _clean("modelled on the Higgs retweet network", people, edges)


def load_graph(found: Graph) -> Numbers:
    """Copy accounts and edges into PostgreSQL. Returns the ids of the accounts, the most followed first."""
    for first in range(0, found.people, ACCOUNTS):
        numbers = range(first, min(first + ACCOUNTS, found.people))
        make_accounts([f"person{number}" for number in numbers])
    with connection.cursor() as sql:
        sql.execute("SELECT substr(handle, 7)::int, id FROM accounts_user WHERE handle ~ '^person'")
        ids = np.zeros(found.people, dtype=np.int64)
        for number, pk in sql.fetchall():
            ids[number] = pk
        followers, followees = ids[found.followers], ids[found.followees]
        _copy("graph_followee (owner_id, followee_id", followers, followees)
        _copy("graph_follower (owner_id, follower_id", followees, followers)
        sql.execute(_COUNT)
    followed = np.bincount(found.followees, minlength=found.people)
    ordered: Numbers = ids[np.argsort(-followed, kind="stable")]
    return ordered


def _copy(columns: str, *values: Numbers) -> None:
    statement = f"COPY {columns}, created_at) FROM STDIN"
    with connection.cursor() as sql, sql.copy(statement) as copy:
        for block in _blocks(*values):
            copy.write(block)


def _blocks(one: Numbers, other: Numbers) -> Iterator[str]:
    now = time.strftime("%Y-%m-%d %H:%M:%S+00", time.gmtime())
    for first in range(0, len(one), ACCOUNTS):
        pairs = zip(
            one[first : first + ACCOUNTS].tolist(),
            other[first : first + ACCOUNTS].tolist(),
            strict=True,
        )
        yield "".join(f"{a}\t{b}\t{now}\n" for a, b in pairs)


def _clean(name: str, people: int, edges: Numbers) -> Graph:
    once = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    return Graph(name, people, once[:, 0], once[:, 1])
