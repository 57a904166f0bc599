"""Checks /explain against the oracle and the ledger, for random pairs of a reader and a post."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.audit.explain import Explanation, explain
from apps.audit.oracle import Oracle, Row, rows
from apps.errors import NotFound
from apps.timeline.fanout.receipts import unpack
from apps.timeline.pipeline.reasons import Reason

PAIRS_PER_READER = 20
# Two posts in three are drawn from this many newest posts of the reader's home or of the site, because readers mostly
# ask about new posts.
NEWEST = 2_000
FOLLOWED = {Reason.PUSH, Reason.BACKFILL, Reason.REBUILT, Reason.FOLLOWED, Reason.PULL, Reason.STORAGE}  # fmt: skip
LATE = {Reason.WAITING: "pending", Reason.FAILED: "dead"}

_LEDGER = """
SELECT j.created_at, f.created_at AS followed_at, c.state, c.reached, c.lost, j.state AS job
FROM posts_post p LEFT JOIN graph_follower f ON f.owner_id = p.author_id AND f.follower_id = %(viewer)s
LEFT JOIN timeline_fanoutjob j ON j.post_id = p.id
LEFT JOIN timeline_fanoutchunk c ON c.job_id = p.id AND NOT c.is_virtual
    AND (c.first_edge = 0 OR f.id BETWEEN c.first_edge AND c.last_edge)
WHERE p.id = %(post)s
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    viewer: User
    post_id: int
    reason: str
    fault: str  # empty if the explanation is correct


def compare(number: int, *, seed: int) -> Iterator[Outcome]:
    """Check the explanations of random pairs. The oracle reads the tables only once, so they must not change."""
    chance, oracle = random.Random(seed), Oracle()  # noqa: S311 -- must be repeatable
    posts = sorted(oracle.posts)
    readers = list(
        User.objects.filter(suspended_at=None).order_by("pk").values_list("pk", flat=True)
    )
    while number > 0 and posts and readers:
        viewer_id = chance.choice(readers)
        viewer = users_by_id([viewer_id])[viewer_id]
        home = oracle.home(viewer_id)
        for _pair in range(min(number, PAIRS_PER_READER)):
            pool = chance.choice([home[:NEWEST] or posts, posts, posts[-NEWEST:]])
            post_id = chance.choice(pool)
            number -= 1
            yield _compare(viewer, post_id, oracle, home)


def _compare(viewer: User, post_id: int, oracle: Oracle, home: Sequence[int]) -> Outcome:
    try:
        found = explain(viewer, post_id)
    except NotFound:
        fault = "called absent" if oracle.is_shown(viewer.pk, post_id) else ""
        return Outcome(viewer, post_id, "hidden", fault)
    shown_id = found.item.id
    reposts = [one for one in home if oracle.posts[one]["kind"] == "repost"]
    by_repost = {one for one in reposts if oracle.posts[one]["source_id"] == post_id}
    if shown_id != post_id and shown_id not in by_repost:
        return Outcome(viewer, post_id, found.reason.value, "explains another post")
    if by_repost and not found.on_home and found.reason not in {*LATE, Reason.READ}:
        return Outcome(viewer, post_id, found.reason.value, "a repost of it is on the home page")
    fault = _fault(viewer, found, oracle, is_home=shown_id in home)
    return Outcome(viewer, post_id, found.reason.value, fault)


def _fault(viewer: User, found: Explanation, oracle: Oracle, *, is_home: bool) -> str:
    """The fault in an explanation; empty if it is correct."""
    post_id, source = found.item.id, found.reason
    if not oracle.is_shown(viewer.pk, post_id):
        return "is not for this reader"
    if found.on_home and not is_home:
        return "is not on the home page"
    if not is_home:
        expected = _rule(viewer.pk, post_id, oracle)
        return "" if source == expected else f"the reason is {expected.value}"
    ledger = rows(_LEDGER, {"viewer": viewer.pk, "post": post_id})[0]
    return _fault_of_present(viewer, found, oracle, ledger)


def _fault_of_present(viewer: User, found: Explanation, oracle: Oracle, ledger: Row) -> str:
    """The fault in the explanation of a post that belongs on the home page, but may be absent if it is late or read."""
    source = found.reason
    if not found.on_home:
        # without a job, the event of the publication has not been handled
        is_late = LATE.get(source) == (ledger["state"] or ledger["job"] or "pending")
        return (
            ""
            if is_late or (source == Reason.READ and viewer.hides_read)
            else "is on the home page"
        )
    expected = _reason(viewer.pk, found.item.id, oracle)
    if expected != source and not {expected, source} <= FOLLOWED:
        return f"the reason is {expected.value}"
    was_reached = ledger["reached"] is not None and viewer.pk in unpack(bytes(ledger["reached"]))
    contradicted = {
        Reason.PUSH: not was_reached,
        Reason.REBUILT: was_reached,
        Reason.BACKFILL: not (
            ledger["followed_at"]
            and ledger["created_at"]
            and ledger["followed_at"] > ledger["created_at"]
        ),
    }
    return "the ledger says otherwise" if contradicted.get(source) else ""


def _reason(viewer_id: int, post_id: int, oracle: Oracle) -> Reason:
    post = oracle.posts[post_id]
    author = post["author_id"]
    if author == viewer_id:
        return Reason.OWN
    if post["visibility"] in {"circle", "friends"}:
        return Reason(post["visibility"])
    if author in oracle.follows[viewer_id]:
        return Reason.FOLLOWED
    return Reason.TAG if post_id in oracle.tagged[viewer_id] else Reason.PROMOTED


def _rule(viewer_id: int, post_id: int, oracle: Oracle) -> Reason:
    """The first rule that keeps a visible post off the reader's home page."""
    post = oracle.posts[post_id]
    author = post["author_id"]
    is_wanted = (
        author == viewer_id
        or author in oracle.follows[viewer_id]
        or post["visibility"] == "circle"
        or post_id in oracle.tagged[viewer_id]
        or oracle.is_promoted(viewer_id, post)
    )
    rules = (
        (oracle.is_muted(viewer_id, post), Reason.MUTED),
        (oracle.is_limited(viewer_id, post), Reason.LIMITED),
        (
            post["kind"] == "repost" and author in oracle.hides_reposts_of[viewer_id],
            Reason.HIDDEN_REPOST,
        ),
        (author in oracle.elsewhere[viewer_id], Reason.LISTED),
        (oracle.is_unwanted_language(viewer_id, post), Reason.LANGUAGE),
        (oracle.is_hidden_reply(viewer_id, post), Reason.REPLY),
        (not is_wanted, Reason.NOT_FOLLOWED),
    )
    found = next((source for applies, source in rules if applies), Reason.FILTERED)
    if found == Reason.NOT_FOLLOWED and _has_quiet_tag(viewer_id, post_id):
        return Reason.TAG_NOT_PUBLIC
    return found


def _has_quiet_tag(viewer_id: int, post_id: int) -> bool:
    """Whether a post that is not public has a tag that the reader follows."""
    tagged = """SELECT 1 FROM tags_taguse u JOIN tags_tagfollow f ON f.tag_id = u.tag_id
                WHERE f.user_id = %(viewer)s AND u.post_id = %(post)s AND NOT u.is_public"""
    return bool(rows(tagged, {"viewer": viewer_id, "post": post_id}))
