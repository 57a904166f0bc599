"""Checks every page that was read during the run against the facts at that time."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from feedcache.ids import second_of
from tools.drill.facts import Facts
from tools.drill.history import OK, Operation
from tools.drill.verdict import Verdict, Verdicts, p99

HOME = ("home", "home_html")
READS = (*HOME, "profile", "public", "show", "tag")
OPEN = ("public", "unlisted")
EVER = float("inf")
SERVER_ERROR, BUSY = 500, 503
SLACK_SECONDS = 2.0  # ids are accurate to the second, and a client needs a moment to reconnect


@dataclass(frozen=True, slots=True)
class _Read:
    viewer: int
    begin: float
    end: float
    operation: Operation


class Pages:
    """Checks reads in the order of their start.

    `posts` are the rows at the end (author, visibility, source and circle never change); `settled` has the time when
    the delivery of a post was complete according to the ledger; `away`, the periods in which writers could not reach
    the windows; `lacked_rows`, whether a worker of Citus was away between two moments.
    """

    def __init__(
        self,
        facts: Facts,
        posts: Mapping[int, Mapping[str, Any]],
        settled: Mapping[int, float],
        verdicts: Verdicts,
        *,
        away: Sequence[tuple[float, float]] = (),
        lacked_rows: Callable[[float, float], bool] | None = None,
    ) -> None:
        self._away = away
        self._lacked_rows = lacked_rows
        self._facts = facts
        self._posts = posts
        self._settled = settled
        self._verdicts = verdicts
        # viewer -> post -> when it was first seen
        self._seen: dict[int, dict[int, float]] = defaultdict(dict)
        self._walked: dict[int, list[int]] = defaultdict(list)  # walk -> ids
        self._due: dict[int, list[int]] = {}  # viewer -> ids that may have to be on the home page
        self._edited: set[int] = set()  # posts that may have lost their tag
        self._by_author: dict[int, list[int]] = defaultdict(list)
        for post_id in sorted(posts):
            self._by_author[posts[post_id]["author_id"]].append(post_id)

    def judge(self, operations: Iterable[Operation]) -> None:
        operations = list(operations)
        self._ended_tokens(operations)
        self._edited = {one.args["post"] for one in operations if one.name == "edit"}
        reads = [one for one in operations if one.name in READS]
        self._answered([one for one in reads if one.name in HOME], reads)
        for one in sorted(reads, key=lambda read: read.begin):
            if one.outcome == OK:
                read = _Read(one.actor, one.begin, one.end, one)
                self._shown(read)
                if one.name in HOME and one.status == 200:
                    self._whole(read)
                if one.name == "tag":
                    self._has_own(read)

    def _answered(self, home: list[Operation], reads: list[Operation]) -> None:
        verdict = self._verdicts["I5"]
        verdict.checked = len(home)
        verdict.p99 = p99([one.end - one.begin for one in home if one.outcome == OK])
        for one in reads:
            if one.status == BUSY and (one.name not in HOME or self._lacks_rows(one)):
                verdict.excused += one.name in HOME
            elif one.status >= SERVER_ERROR:
                verdict.violate(f"n={one.number} {one.name} answered {one.status}")

    def _lacks_rows(self, one: Operation) -> bool:
        return self._lacked_rows is not None and self._lacked_rows(one.begin, one.end)

    def _ended_tokens(self, operations: Sequence[Operation]) -> None:
        verdict, ended = self._verdicts["I23"], {}
        for one in operations:
            if one.name == "end_token" and one.outcome == OK:
                ended[one.args["token"]] = one.end
        for one in operations:
            if one.name == "use_token" and one.begin > ended.get(one.args["token"], EVER):
                verdict.checked += 1
                if one.status == 200:
                    verdict.violate(f"n={one.number} token {one.args['token']} works after its end")

    # --- only permitted posts are shown ---------------------------------------------------------------

    def _shown(self, read: _Read) -> None:
        for post_id in read.operation.found["ids"]:
            for name in ("I2", "I9", "I10"):
                self._verdicts[name].checked += 1
            post = self._posts.get(post_id)
            if post is None:
                self._note("I2", read, post_id, "is not in the database")
                continue
            self._may_be_seen(read, post)
            if post["kind"] == "repost":
                self._may_be_seen(read, self._posts[post["source_id"]], through=post_id)
            if read.operation.name in HOME:
                self._belongs(read, post)

    def _may_be_seen(
        self, read: _Read, post: Mapping[str, Any], *, through: int | None = None
    ) -> None:
        facts, viewer, author, post_id = self._facts, read.viewer, post["author_id"], post["id"]
        told = f"through {through}" if through else ""
        if facts.surely_deleted(post_id, read.begin, read.end):
            self._note("I9", read, post_id, f"was deleted {told}")
        if author == viewer:
            return
        if facts.surely_blocked(viewer, author, read.begin, read.end):
            self._note("I10", read, post_id, f"is of {author}, with whom there is a block {told}")
        if not self._is_for(read, post):
            self._note("I2", read, post_id, f"is {post['visibility']} and not for them {told}")

    def _is_for(self, read: _Read, post: Mapping[str, Any]) -> bool:
        facts, viewer, author = self._facts, read.viewer, post["author_id"]
        if post["visibility"] in OPEN or facts.named.get(post["id"]) == viewer:
            return True
        if post["visibility"] == "circle":
            return facts.may_belong(post["circle_id"], viewer, read.begin, read.end)
        if post["visibility"] == "followers":
            return facts.may_follow(viewer, author, read.begin, read.end)
        # a lost response leaves the mentions of a post unknown
        return post["id"] not in facts.published

    def _belongs(self, read: _Read, post: Mapping[str, Any]) -> None:
        facts, viewer, author = self._facts, read.viewer, post["author_id"]
        authors = {author}
        if post["kind"] == "repost":
            authors.add(self._posts[post["source_id"]]["author_id"])
        for one in authors - {viewer}:
            if facts.surely_muted(viewer, one, read.begin, read.end):
                self._note("I10", read, post["id"], f"is of {one}, whom they muted")
        needs_follow = author != viewer and post["visibility"] != "circle"
        if needs_follow and not facts.may_follow(viewer, author, read.begin, read.end):
            self._note("I10", read, post["id"], f"is of {author}, whom they do not follow")

    # --- required posts are shown --------------------------------------------------------------------

    def _whole(self, read: _Read) -> None:
        operation = read.operation
        ids, is_walk = operation.found["ids"], "walk" in operation.args
        name = "I3" if is_walk else "I7"
        self._verdicts[name].checked += 1
        self._verdicts["I12"].checked += 1
        so_far = self._walked[operation.args["walk"]] if is_walk else []
        so_far += ids
        if any(one <= other for one, other in pairwise(so_far)):
            self._note("I3", read, ids[0] if ids else 0, "a page repeats an id or breaks the order")
        if not operation.found["degraded"]:
            self._without_hole(read, name)
        seen = self._seen[read.viewer]
        for post_id in ids:
            seen.setdefault(post_id, read.end)

    def _without_hole(self, read: _Read, name: str) -> None:
        found = read.operation.found
        shown, high = set(found["ids"]), read.operation.args.get("max_id") or EVER
        low = found["next"] or 0
        if read.operation.name == "home_html":
            low = min(shown, default=0)
            shown |= self._on_cards_of(shown)
        due = self._due_of(read.viewer)
        for post_id in due[bisect_right(due, low) : bisect_left(due, high)]:
            if post_id in shown:
                continue
            since, is_own_session = self._known_since(read.viewer, post_id)
            if since < read.begin and self._must_be_shown(read, self._posts[post_id]):
                which = "I12" if is_own_session else name
                if is_own_session and self._was_cut_off(post_id, read):
                    self._verdicts[which].excused += 1
                    continue
                self._note(which, read, post_id, f"is missing, there since {since:.3f}")

    def _on_cards_of(self, shown: set[int]) -> set[int]:
        """The reposts that an HTML page shows on the card of a newer repost of the same post."""
        reposts = {one: post for one, post in self._posts.items() if post["kind"] == "repost"}
        cards = {
            reposts[post_id]["source_id"]: post_id for post_id in sorted(shown & reposts.keys())
        }
        return {one for one, post in reposts.items() if one < cards.get(post["source_id"], 0)}

    def _was_cut_off(self, post_id: int, read: _Read) -> bool:
        """Whether the windows may lack a post because writers could not reach Redis: a known gap (docs/drill.md)."""
        published = self._facts.published.get(post_id)
        written = (published.begin if published else second_of(post_id)) - SLACK_SECONDS
        return any(begin < read.end and end > written for begin, end in self._away)

    def _known_since(self, viewer: int, post_id: int) -> tuple[float, bool]:
        """Since when a reader's home must have a post, and whether that is because the reader had already seen it."""
        seen = self._seen[viewer].get(post_id, EVER)
        if self._posts[post_id]["author_id"] == viewer and post_id in self._facts.published:
            seen = min(seen, self._facts.published[post_id].end)
        settled = self._settled.get(post_id, EVER)
        return min(seen, settled), seen <= settled

    def _must_be_shown(self, read: _Read, post: Mapping[str, Any]) -> bool:
        facts, viewer, end = self._facts, read.viewer, read.end
        author, post_id = post["author_id"], post["id"]
        if facts.may_be_deleted(post_id, end):
            return False
        if author != viewer and not self._reaches(viewer, post, end):
            return False
        if post["kind"] == "repost":
            source = self._posts[post["source_id"]]
            whose = source["author_id"]
            if facts.may_be_deleted(source["id"], end):
                return False
            return whose == viewer or facts.is_untouched(viewer, whose, end)
        return True

    def _reaches(self, viewer: int, post: Mapping[str, Any], end: float) -> bool:
        facts, author = self._facts, post["author_id"]
        if not facts.is_untouched(viewer, author, end):
            return False
        if post["visibility"] == "circle":
            return facts.may_belong(post["circle_id"], viewer, -EVER, end)
        if post["visibility"] == "mentioned" and facts.named.get(post["id"]) != viewer:
            return False
        return facts.always_follows(viewer, author, end)

    def _has_own(self, read: _Read) -> None:
        """I12: a tag's page has the posts that its reader had published, although a replica may lack them."""
        found, verdict = read.operation.found, self._verdicts["I12"]
        verdict.checked += 1
        for post_id in self._by_author[read.viewer] if not found["degraded"] else ():
            published = self._facts.published.get(post_id)
            if published is None or not published.args.get("tag") or post_id in self._edited:
                continue
            is_due = published.end < read.begin and post_id > (found["next"] or 0)
            if not is_due or post_id in found["ids"]:
                continue
            if self._facts.may_be_deleted(post_id, read.end):
                continue
            if self._was_cut_off(post_id, read):
                verdict.excused += 1
            else:
                self._note("I12", read, post_id, "is missing from its tag")

    def _due_of(self, viewer: int) -> list[int]:
        if viewer not in self._due:
            self._due[viewer] = sorted(
                post_id
                for author, ids in self._by_author.items()
                if author == viewer or self._may_have_followed(viewer, author)
                for post_id in ids
            ) + self._circled(viewer)
            self._due[viewer].sort()
        return self._due[viewer]

    def _may_have_followed(self, viewer: int, author: int) -> bool:
        return self._facts.may_follow(viewer, author, -EVER, -EVER)

    def _circled(self, viewer: int) -> list[int]:
        return [
            post_id
            for post_id, post in self._posts.items()
            if post["visibility"] == "circle"
            and post["author_id"] != viewer
            and not self._may_have_followed(viewer, post["author_id"])
        ]

    def _note(self, name: str, read: _Read, post_id: int, what: str) -> None:
        verdict: Verdict = self._verdicts[name]
        operation = read.operation
        lost = 1 if "missing" in what else 0
        verdict.violate(
            f"n={operation.number} {operation.name} of {read.viewer}: {post_id} {what}", lost=lost
        )
