"""Explains why a post is or is not on a home page: a reason in plain words, a checklist, or a page with all reasons.

Viewers who may not see a post get the same error as on every page, whether the post does not exist, is deleted or
restricted, or is by a blocked or suspended account. No page stores anything for its explanation: the reason is found
on demand, from the ledger, from the follow by which the post was delivered, and from the home cache.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import User
from apps.audit.hooks import NOTES
from apps.audit.oracle import Row, rows
from apps.dates import full_time
from apps.deadline import missing
from apps.errors import NotFound
from apps.events.leases import State
from apps.pagination import MAX_LIMIT, Cursor, Page
from apps.posts.models import Visibility
from apps.timeline import policy
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.fanout.receipts import unpack
from apps.timeline.home import Look, assemble_home, home_timeline, look_up
from apps.timeline.pipeline.items import FeedItem, Promotion
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.pipeline.rulebook import FILTERED, HOME_RULES, Rule, Verdict
from apps.timeline.sources import virtual_follows
from apps.timeline.sources.found import Via
from feedcache.ids import author_of, from_base36, parse_id
from feedcache.stats import traced

_FOLLOWS = """
SELECT owner_id, id, created_at FROM graph_follower WHERE owner_id = ANY(%(authors)s) AND follower_id = %(viewer)s
"""
# The job of a post, and the chunk that contains the viewer's follow or, otherwise, the viewer's virtual follow. A post
# for friends, mentioned people or a circle has only one chunk, which has no range of follows: its `first_edge` is 0.
# `event_due` is the time of the next attempt if the delivery has not begun. The follows are parameters, because they
# may be on other servers than the ledger.
_DELIVERIES = """
SELECT DISTINCT ON (p.id) p.id, j.mode, j.state AS job, j.created_at AS started_at, j.lost AS unsplit,
    coalesce(p.followed_at, v.created_at) AS followed_at, c.id AS chunk, c.state, c.attempts, c.due_at, c.finished_at,
    c.lost, c.reached, c.first_edge = 0 AS addressed,
    CASE WHEN j.post_id IS NULL THEN (
        SELECT max(due_at) FROM events_event WHERE state = 'pending' AND name = 'post_published'
        AND subscriber = %(subscriber)s AND (payload->>'post_id')::bigint = p.id) END AS event_due
FROM unnest(%(posts)s::bigint[], %(authors)s::bigint[], %(edges)s::bigint[], %(times)s::timestamptz[])
    AS p (id, author_id, edge, followed_at)
LEFT JOIN {virtual} v ON v.account_id = p.author_id AND v.user_id = %(viewer)s
LEFT JOIN timeline_fanoutjob j ON j.post_id = p.id
LEFT JOIN timeline_fanoutchunk c ON c.job_id = p.id AND (
    c.first_edge = 0
    OR (CASE WHEN c.is_virtual THEN v.id ELSE p.edge END) BETWEEN c.first_edge AND c.last_edge)
ORDER BY p.id, c.is_virtual
"""
# A follow may take effect this much later than its date, because it is dated before the commit.
COMMIT = timedelta(seconds=10)


MAX_REPOSTS = 5  # how many reposts of a post are looked up on the home page
_REPOSTS = """
SELECT id FROM posts_post
WHERE source_id = %(post)s AND kind = 'repost' AND deleted_at IS NULL AND (author_id = %(viewer)s
    OR author_id IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s))
ORDER BY id DESC LIMIT %(maximum)s
"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reason why a post is or is not on a viewer's home page.

    `when` is the time of the delivery, of the follow, or of the next attempt, depending on the reason.
    """

    item: FeedItem
    on_home: bool
    reason: Reason
    who: str = ""  # the handle, tag or filter titles in the text
    when: datetime | None = None
    policy: str = ""  # how the post was delivered: push, online or pull
    chunk: int | None = None  # the id of the chunk in the ledger
    attempts: int = 0
    promotion: Promotion | None = None

    @property
    def text(self) -> str:
        """The reason in a sentence or two, in the reader's language."""
        return self.sentence(full_time(self.when) if self.when else _("soon"))

    def sentence(self, when: str) -> str:
        """The text, with `when` as the wording of its time."""
        if self.item.is_repost and self.reason == Reason.OWN:
            return _("You reposted it.")
        facts = {"who": self.who, "when": when}
        if self.promotion is not None:
            facts |= {"why": self.promotion.reason(), "sponsor": self.promotion.sponsor}
        text = str(self.reason.label) % facts
        if self.item.is_repost:
            handles = {"who": self.item.author.handle, "author": self.item.shown.author.handle}
            text = _("@%(who)s reposted this post by @%(author)s.") % handles + f" {text}"
        quoted = self.item.shown.quoted
        if quoted and quoted.mutes_author:
            text += " " + _("It quotes @%(who)s, whom you mute: the quoted post is collapsed.") % {
                "who": quoted.author.handle
            }
        return text


def explain(viewer: User, post_id: int) -> Explanation:
    """Explain why a post is or is not on a viewer's home page. Raises NotFound if the viewer may not see the post.

    If only reposts of the post are on the page, the newest of them is explained.
    """
    return _explain_look(viewer, _look_up(viewer, post_id))


def _look_up(viewer: User, post_id: int) -> Look:
    """Look up the post or, if only a repost of it is on the home page, the newest such repost.

    The last `MAX_REPOSTS` reposts by the viewer and by followees are tried. Raises NotFound if the viewer may not see
    the post.
    """
    look = look_up(viewer, post_id)
    if look is None:
        raise NotFound(_("This post isn't here."))
    if look.is_on_home:
        return look
    found = rows(_REPOSTS, {"viewer": viewer.pk, "post": post_id, "maximum": MAX_REPOSTS})
    reposts = (look_up(viewer, row["id"]) for row in found)
    return next((repost for repost in reposts if repost and repost.is_on_home), look)


def _explain_look(viewer: User, look: Look) -> Explanation:
    verdict = Verdict(look.verdict.item) if look.is_on_home else look.verdict
    return explained(viewer, [verdict], lambda _post_id: look.via)[0]


def explain_home(viewer: User, cursor: Cursor) -> Page[Explanation]:
    """A page of a viewer's home, with an explanation for each post."""
    made = assemble_home(viewer, cursor, exclude_read=viewer.hides_read)
    verdicts = [Verdict(item) for item in made.page.items]
    return made.page.with_items(explained(viewer, verdicts, made.via))


def explained(
    viewer: User, verdicts: Sequence[Verdict], via: Callable[[int], Via | None]
) -> list[Explanation]:
    """Explain the verdicts of a home page from the ledger, in a fixed number of queries.

    `via` returns, for a post id, how the post became a candidate; None if it did not.
    """
    if not verdicts:
        return []
    deliveries = _deliveries(viewer.pk, [verdict.item.id for verdict in verdicts])
    return [
        _explained(viewer.pk, verdict, via(verdict.item.id), deliveries[verdict.item.id])
        for verdict in verdicts
    ]


def _deliveries(viewer_id: int, post_ids: Sequence[int]) -> dict[int, Row]:
    authors = [author_of(post_id) for post_id in post_ids]
    found = rows(_FOLLOWS, {"viewer": viewer_id, "authors": authors})
    follows = {row["owner_id"]: (row["id"], row["created_at"]) for row in found}
    edges, times = zip(*(follows.get(author, (None, None)) for author in authors), strict=True)
    values = {"viewer": viewer_id, "posts": post_ids, "authors": authors, "subscriber": DELIVERY}
    query = _DELIVERIES.format(virtual=virtual_follows.table())
    found = rows(query, {**values, "edges": list(edges), "times": list(times)})
    return {row["id"]: row for row in found}


def _explained(viewer_id: int, verdict: Verdict, via: Via | None, delivery: Row) -> Explanation:
    item, rule, who = verdict
    when: datetime | None = None
    if rule is not None:
        reason = rule.reason
    elif via is not None:
        reason, who, when = _why_present(viewer_id, item, via, delivery)
    elif item.followed_tag or _is_pulled(item):
        # it needs no delivery, so the ledger says nothing about it
        reason, who = Reason.LOST, item.author.handle
    else:
        who = item.author.handle
        reason, when = _why_not_delivered(delivery)
    return Explanation(
        item=item,
        on_home=rule is None and via is not None,
        reason=reason,
        who=who,
        when=when,
        policy=delivery["mode"] or "",
        chunk=delivery["chunk"],
        attempts=delivery["attempts"] or 0,
        promotion=item.promotion,
    )


def _is_pulled(item: FeedItem) -> bool:
    policies = policy.cached()
    return item.post.is_open and (policies.pulls_all or item.author.pk in policies.pulled)


def _why_present(
    viewer_id: int, item: FeedItem, via: Via, delivery: Row
) -> tuple[Reason, str, datetime | None]:
    """The reason why a post is on the page, and the name (`who`) and the time (`when`) for the text of the reason."""
    reason, who, when = Reason.STORAGE, item.author.handle, None
    is_reached = _is_reached(viewer_id, delivery)
    if item.author.pk == viewer_id:
        reason = Reason.OWN
    elif item.post.visibility in (Visibility.CIRCLE, Visibility.FRIENDS):
        reason = Reason(item.post.visibility)
        when = delivery["finished_at"] if is_reached else None
    elif item.followed_tag:
        reason, who = Reason.TAG, item.followed_tag
    elif item.promotion is not None:
        reason = Reason.PROMOTED
    elif via is Via.CACHE:
        reason, when = _why_cached(delivery, is_reached=is_reached)
    elif via is Via.PULLED:
        reason = Reason.PULL
    return reason, who, when


def _is_reached(viewer_id: int, delivery: Row) -> bool | None:
    """Whether the delivery put a post on this viewer's page; None if that is not recorded, or no longer recorded."""
    if delivery["state"] != State.DONE or delivery["lost"] or delivery["reached"] is None:
        return None
    return viewer_id in unpack(bytes(delivery["reached"]))


def _why_cached(delivery: Row, *, is_reached: bool | None) -> tuple[Reason, datetime | None]:
    """How and when a post got into the viewer's home cache, as far as this is recorded."""
    if is_reached:
        return Reason.PUSH, delivery["finished_at"]
    followed_at, started_at = delivery["followed_at"], delivery["started_at"]
    if followed_at is None or started_at is None:
        return Reason.FOLLOWED, None
    if followed_at > started_at:
        return Reason.BACKFILL, followed_at
    was_listed = followed_at < started_at - COMMIT and not delivery["addressed"]
    if is_reached is False and was_listed:
        return Reason.REBUILT, None
    return Reason.FOLLOWED, None


def _why_not_delivered(delivery: Row) -> tuple[Reason, datetime | None]:
    """Why a post has not reached this viewer, and the time of the next attempt, if one is planned."""
    if delivery["job"] is None:
        due = delivery["event_due"]
        return (Reason.LOST if due is None else Reason.WAITING), _ahead(due)
    state = delivery["state"] or delivery["job"]
    if state == State.PENDING:
        return Reason.WAITING, _ahead(delivery["due_at"])
    if state == State.DEAD:
        return Reason.FAILED, None
    followed_at = delivery["followed_at"]
    was_unsplit = delivery["unsplit"] and delivery["chunk"] is None
    if delivery["lost"] or (was_unsplit and followed_at and followed_at < delivery["started_at"]):
        return Reason.GIVEN_UP, None
    return Reason.LOST, None


def _ahead(moment: datetime | None) -> datetime | None:
    """The time if it is in the future; None, which means soon, if it has passed."""
    return moment if moment is not None and moment > timezone.now() else None


_ADDRESS = re.compile(
    r"(?:(?:https?://)?(?P<host>[^/\s]+))?/(?:@\w+/(?P<id>[0-9]+)|p/(?P<short>[0-9A-Z]{14}))/?(?:[?#].*)?",
    re.ASCII,
)


def post_id_in(text: str, *, host: str) -> int | None:
    """The post id in a pasted string: the address or short address of a post on this site, or a plain id.

    `host` is the host of the request; the site's configured address is accepted too. Other strings return None.
    """
    text = text.strip()
    found = _ADDRESS.fullmatch(text)
    if found and found["host"] not in (None, host, urlsplit(settings.SITE_URL).netloc):
        return None
    try:
        if found and found["short"]:
            return from_base36(found["short"])
        return parse_id(found["id"] if found else text)
    except ValueError:
        return None


class Mark(Enum):
    PASSED = "passed"
    FAILED = "failed"
    IRRELEVANT = "irrelevant"


@dataclass(frozen=True, slots=True)
class Check:
    """A question about a post, and the answer. The first failed check keeps the post off the page."""

    question: str
    answer: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Checklist:
    """Whether a post is on a home page, and the questions that decide this, up to the first failure.

    `explanation` is None if the post does not exist or the viewer may not see it. `unasked` is the number of questions
    after the failure; 0 if `explanation` is None.
    """

    outcome: str
    explanation: Explanation | None
    checks: list[Check]
    unasked: int


class _Question(NamedTuple):
    """A question, and the rule ids or reasons for which a post fails it."""

    text: str
    reasons: Collection[str]
    passing_answer: bool = False
    irrelevant: str = ""

    def check(self, reason: Reason | None) -> Check:
        """The answer to the question. `reason` is the reason why the post is not on the page, None if it is there."""
        has_failed = reason in self.reasons
        if self.irrelevant and not has_failed:
            return Check(
                self.text,
                _("This does not apply here: %(why)s.") % {"why": self.irrelevant},
                Mark.IRRELEVANT,
            )
        mark = Mark.FAILED if has_failed else Mark.PASSED
        return Check(self.text, _("Yes.") if self.passing_answer != has_failed else _("No."), mark)


def checklist(viewer: User, post_id: int) -> Checklist:
    """Whether a post is on a viewer's home page and where, with the page's rules in order up to the first failure.

    The result is the same for posts that do not exist, that are deleted, and that the viewer may not see.
    """
    exists = _("Does this post exist, and can you see it?")
    try:
        look = _look_up(viewer, post_id)
    except NotFound:
        outcome = _("There is no such post, or you can't see it.")
        return Checklist(outcome, None, [Check(exists, _("No."), Mark.FAILED)], 0)
    found = _explain_look(viewer, look)
    questions, reason = _questions(look), None if found.on_home else found.reason
    checks = [Check(exists, _("Yes."), Mark.PASSED)]
    for question in questions:
        checks.append(question.check(reason))
        if checks[-1].mark is Mark.FAILED:
            break
    outcome = _position(viewer, found) if found.on_home else _("It is not on your home page.")
    return Checklist(outcome, found, checks, len(questions) + 1 - len(checks))


def _questions(look: Look) -> list[_Question]:
    """The questions of the page's rules in order, without repetitions; the last asks whether the post has arrived."""
    item = look.verdict.item
    rules: dict[str, list[Rule]] = defaultdict(list)
    for rule in (*HOME_RULES.rules, FILTERED):
        rules[rule.question(item)].append(rule)
    return [
        *(
            _Question(
                text,
                [rule.id for rule in same],
                same[-1].passing_answer,
                same[-1].irrelevant(item, look.facts),
            )
            for text, same in rules.items()
        ),
        _Question(
            _("Has it arrived on your home page?"),
            (Reason.FAILED, Reason.WAITING, Reason.GIVEN_UP, Reason.LOST),
            passing_answer=True,
        ),
    ]


def _position(viewer: User, found: Explanation) -> str:
    above = home_timeline(viewer, Cursor(since_id=found.item.id, limit=MAX_LIMIT))
    if above.older is not None:
        return _("It is on your home page, below many newer posts.")
    if not above.items:
        return _("It is on your home page, at the very top.")
    text = ngettext(
        "It is on your home page, below %(count)d newer post.",
        "It is on your home page, below %(count)d newer posts.",
        len(above.items),
    )
    return text % {"count": len(above.items)}


WIDTH = 1000  # the width of the bar, in SVG units

# Labels of the stages, in the order of a page's assembly. Other stages are shown by name.
STAGES = {
    "candidates": gettext_lazy("Read the ids"),
    "windows": gettext_lazy("What was delivered"),
    "inbox": gettext_lazy("Inbox"),
    "merge": gettext_lazy("Merge"),
    "content": gettext_lazy("Posts"),
    "people": gettext_lazy("Authors"),
    "counts": gettext_lazy("Counts"),
    "relations": gettext_lazy("Relations"),
    "flags": gettext_lazy("Your likes and other marks"),
    "rules": gettext_lazy("Rules"),
}


@dataclass(frozen=True, slots=True)
class AssemblyRow:
    """A candidate, with its position on the page if it was not dropped."""

    explanation: Explanation
    place: int | None = None
    notes: tuple[str, ...] = ()  # from optional apps

    @property
    def is_on_page(self) -> bool:
        return self.place is not None

    @property
    def item(self) -> FeedItem:
        return self.explanation.item


@dataclass(frozen=True, slots=True)
class StageTime:
    """The time that a stage took. `start` and `width` are its place in the bar."""

    name: str
    label: str
    milliseconds: float
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Assembly:
    """A page of a home timeline with details of its assembly."""

    page: Page[FeedItem]
    rows: list[AssemblyRow]
    invisible: int  # the number of candidates that are deleted, or that the viewer may not see
    stages: list[StageTime]
    milliseconds: float
    missing: list[str] = field(default_factory=list)

    @property
    def candidates(self) -> int:
        return len(self.rows) + self.invisible

    @property
    def authors(self) -> int:
        return len({row.item.author.pk for row in self.rows})


def assembly(viewer: User, cursor: Cursor) -> Assembly:
    """Assemble a page of a viewer's home, with the time of each stage, and with the dropped posts and the reasons.

    The code that serves home pages assembles the page, and also records the times and verdicts. Deleted posts and posts
    that the viewer may not see are only counted, because the reasons would reveal blocks.
    """
    began = time.perf_counter()
    with traced() as stages:
        made = assemble_home(viewer, cursor, exclude_read=viewer.hides_read)
    seconds = time.perf_counter() - began
    places = {item.id: place for place, item in enumerate(made.page.items, start=1)}
    notes = [make(viewer) for make in NOTES]
    rows = [
        AssemblyRow(
            reason,
            places.get(reason.item.id),
            tuple(some[reason.item.id] for some in notes if reason.item.id in some),
        )
        for reason in explained(viewer, made.verdicts, made.via)
    ]
    rows.sort(key=lambda row: -row.item.id)
    return Assembly(made.page, rows, made.invisible, _bar(stages), seconds * 1000, missing())


def _bar(stages: Mapping[str, float]) -> list[StageTime]:
    """The stages in the order of `STAGES`, then the others. If several wait at once, each counts the whole wait."""
    total = sum(stages.values()) or 1.0
    bar: list[StageTime] = []
    start = 0.0
    for name, seconds in _in_order(stages):
        width = seconds / total * WIDTH
        label = str(STAGES.get(name, name))
        bar.append(StageTime(name, label, seconds * 1000, round(start, 1), round(width, 1)))
        start += width
    return bar


def _in_order(stages: Mapping[str, float]) -> Sequence[tuple[str, float]]:
    labelled = [(name, stages[name]) for name in STAGES if name in stages]
    return labelled + [(name, spent) for name, spent in stages.items() if name not in STAGES]
