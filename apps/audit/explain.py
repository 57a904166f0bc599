"""Why a post is on a home page, or why it is not, in plain words: the reason, the checklist, the annotated page.

Viewers who may not see a post get the same error as on every page, whether it is absent, deleted, restricted, or of a
blocked or suspended account (reliability: S32). Serving pages records nothing for this: the reason is read on demand
from the ledger, from the follow that the post was delivered over, and from the home cache.
"""

import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.accounts.models import User
from apps.audit.oracle import Row, rows
from apps.dates import full_time
from apps.deadline import missing
from apps.errors import NotFound
from apps.events.leases import State
from apps.filters.models import FilterContext
from apps.filters.queries import active_filters_of
from apps.graph.groups.queries import exclusive_member_ids
from apps.graph.queries import Relations, chosen_languages, exact_relations
from apps.pagination import MAX_LIMIT, Cursor, Page
from apps.posts.models import Visibility
from apps.promotions.queries import Promotion
from apps.tags.queries import followed_names
from apps.timeline import policy
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.fanout.receipts import unpack
from apps.timeline.home import (
    candidates,
    home_items,
    home_timeline,
    is_reply_to_stranger,
    is_unwanted_language,
)
from apps.timeline.pipeline.page import FeedItem, hydrate, is_hidden, mark
from apps.timeline.pipeline.promoted import promotion_of, promotions_for
from apps.timeline.policy import PoliciesInForce
from apps.timeline.ranking.algorithms import Scored
from apps.timeline.ranking.ordering import newest_scores
from apps.timeline.sources.home_cache import HOME, INBOX
from apps.timeline.thread import visible_item
from feedcache.connections import RedisError
from feedcache.ids import authors_of, from_base36, parse_id
from feedcache.stats import traced

# The job of a post, and the chunk of the viewer's follow, else of the virtual one; for addressed posts the only chunk
# (edge 0). `event_due`: when a delivery that has not begun is tried next.
_DELIVERIES = """
SELECT DISTINCT ON (p.id) p.id, j.mode, j.state AS job, j.created_at AS started_at, j.lost AS unsplit,
    coalesce(e.created_at, v.created_at) AS followed_at, c.id AS chunk, c.state, c.attempts, c.due_at, c.finished_at,
    c.lost, c.reached, c.first_edge = 0 AS addressed,
    CASE WHEN j.post_id IS NULL THEN (
        SELECT max(due_at) FROM events_event WHERE state = 'pending' AND name = 'post_published'
        AND subscriber = %(subscriber)s AND (payload->>'post_id')::bigint = p.id) END AS event_due
FROM posts_post p
LEFT JOIN graph_follower e ON e.owner_id = p.author_id AND e.follower_id = %(viewer)s
LEFT JOIN promotions_virtualfollow v ON v.account_id = p.author_id AND v.user_id = %(viewer)s
LEFT JOIN timeline_fanoutjob j ON j.post_id = p.id
LEFT JOIN timeline_fanoutchunk c ON c.job_id = p.id AND (
    c.first_edge = 0
    OR (CASE WHEN c.is_virtual THEN v.id ELSE e.id END) BETWEEN c.first_edge AND c.last_edge)
WHERE p.id = ANY(%(posts)s)
ORDER BY p.id, c.is_virtual
"""
# A follow may be younger than it says by this much: the time between its date and its commit.
COMMIT = timedelta(seconds=10)


MAX_REPOSTS = 5  # of one post, looked at for one that is on a home page
_REPOSTS = """
SELECT id FROM posts_post
WHERE source_id = %(post)s AND kind = 'repost' AND deleted_at IS NULL AND (author_id = %(viewer)s
    OR author_id IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s))
ORDER BY id DESC LIMIT %(maximum)s
"""


class Source(TextChoices):
    """How a post arrived on a page, or what keeps it away."""

    OWN = "own", gettext_lazy("You wrote it.")
    CIRCLE = "circle", gettext_lazy("It is for a circle that you belong to.")
    FRIENDS = "friends", gettext_lazy("It is for friends of @%(who)s: you follow each other.")
    PUSH = (
        "push",
        gettext_lazy("It was put on your page (%(when)s), because you follow @%(who)s."),
    )
    BACKFILL = (
        "backfill",
        gettext_lazy(
            "It is older than your follow: you followed @%(who)s on %(when)s, and that brought it to your page."
        ),
    )
    REBUILT = (
        "rebuilt",
        gettext_lazy(
            "You follow @%(who)s. No page was ready for you when it was published; yours was made when you next came."
        ),
    )
    FOLLOWED = "followed", gettext_lazy("You follow @%(who)s.")
    PULL = (
        "pull",
        gettext_lazy("You follow @%(who)s, whose posts are fetched when you open the page."),
    )
    STORAGE = (
        "storage",
        gettext_lazy(
            "You follow @%(who)s. It did not lie ready for you, so it was read from the database when you opened the "
            "page."
        ),
    )
    PROMOTED = (
        "promoted",
        gettext_lazy("%(why)s You do not follow @%(who)s; paid for by %(sponsor)s."),
    )
    SPACED = (
        "spaced",
        gettext_lazy(
            "@%(who)s is promoted to you, but not in this place: at most one post in eight is, below seven others."
        ),
    )
    NOT_FOLLOWED = "not_followed", gettext_lazy("You do not follow @%(who)s.")
    TAG = "tag", gettext_lazy("You follow #%(who)s.")
    TAG_NOT_PUBLIC = (
        "tag_not_public",
        gettext_lazy(
            "You follow #%(who)s, but not its author, and it is not public: a tag brings only public posts."
        ),
    )
    LISTED = (
        "listed",
        gettext_lazy("@%(who)s is in a list of yours whose posts you leave out of your home page."),
    )
    MUTED = "muted", gettext_lazy("You mute @%(who)s.")
    UNSHARED = "unshared", gettext_lazy("You hide what @%(who)s reposts.")
    LANGUAGE = "language", gettext_lazy("You read @%(who)s in other languages only.")
    REPLY = (
        "reply",
        gettext_lazy(
            "It replies to somebody whom you do not follow, and your home page leaves such replies out."
        ),
    )
    FILTERED = "filtered", gettext_lazy("Your filter hides it: %(who)s.")
    READ = (
        "read",
        gettext_lazy("You have read it, and your home page leaves out what you have read."),
    )
    WAITING = "waiting", gettext_lazy("It is on its way to you (next try: %(when)s).")
    FAILED = (
        "failed",
        gettext_lazy(
            "Its delivery to you failed. The people who run the site can see this and start it again."
        ),
    )
    GIVEN_UP = (
        "given_up",
        gettext_lazy(
            "Its delivery to you failed and was given up. It appears when your page is next made from the database."
        ),
    )
    LOST = (
        "lost",
        gettext_lazy(
            "It belongs on your page and is missing: our mistake. The program that checks pages puts it back when it "
            "finds this."
        ),
    )

    @property
    def short(self) -> str:
        """A word or two; one and the same for every reason that keeps a post away."""
        return str(_SHORT.get(self, gettext_lazy("not there")))


_SHORT = {
    Source.OWN: gettext_lazy("yours"),
    Source.CIRCLE: gettext_lazy("circle"),
    Source.FRIENDS: gettext_lazy("friends"),
    Source.PUSH: gettext_lazy("delivered"),
    Source.BACKFILL: gettext_lazy("brought when you followed"),
    Source.REBUILT: gettext_lazy("made when you came"),
    Source.FOLLOWED: pgettext_lazy("how it came", "followed"),
    Source.PULL: gettext_lazy("fetched on opening"),
    Source.STORAGE: gettext_lazy("from storage"),
    Source.TAG: gettext_lazy("tag"),
    Source.PROMOTED: gettext_lazy("promoted"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one post is on a viewer's home page or not.

    `when`: it was delivered to the viewer, or the viewer followed its author, or the next try is due.
    """

    item: FeedItem
    on_home: bool
    source: Source
    who: str = ""  # the handle, the tag, or the titles of filters, in the text
    when: datetime | None = None
    policy: str = ""  # how the post was delivered: push, online, pull
    chunk: int | None = None  # of the ledger
    attempts: int = 0
    promotion: Promotion | None = None

    @property
    def text(self) -> str:
        """The reason in a sentence or two, in the reader's language."""
        return self.sentence(full_time(self.when) if self.when else _("soon"))

    def sentence(self, when: str) -> str:
        """The text with its time written like this."""
        if self.item.is_repost and self.source == Source.OWN:
            return _("You reposted it.")
        facts = {"who": self.who, "when": when}
        if self.promotion is not None:
            facts |= {"why": self.promotion.reason(), "sponsor": self.promotion.sponsor}
        text = str(self.source.label) % facts
        if self.item.is_repost:
            handles = {"who": self.item.author.handle, "author": self.item.shown.author.handle}
            text = _("@%(who)s reposted this post of @%(author)s.") % handles + f" {text}"
        quoted = self.item.shown.quoted
        if quoted and quoted.mutes_author:
            text += " " + _("It quotes @%(who)s, whom you mute: the quoted post is folded.") % {
                "who": quoted.author.handle
            }
        return text


def explain(viewer: User, post_id: int) -> Explanation:
    """Why a post is on a viewer's home page or not; NotFound when the viewer may not see it.

    Of a post that is there by a repost only, the explanation is that of the newest repost.
    """
    item = visible_item(viewer.pk, post_id)
    on_home = _on_home(viewer, post_id) or _repost_on_home(viewer, post_id)
    return explained(viewer, on_home or [item], on_home=bool(on_home))[0]


def _on_home(viewer: User, post_id: int) -> list[FeedItem]:
    """The item of the viewer's home page with this id, or none; a promoted one wherever its place is."""
    place = Cursor(max_id=post_id + 1, since_id=post_id - 1, limit=1)
    page = home_timeline(viewer, place)
    if page.items or not candidates(viewer)(place, 1):
        return page.items
    return [
        item
        for item in home_items(viewer, [post_id])
        if item.promotion and not (viewer.hides_read and item.shown.flags.read)
    ]


def _repost_on_home(viewer: User, post_id: int) -> list[FeedItem]:
    """The newest repost of a post that is on the viewer's home page, or none; a look at each of `MAX_REPOSTS`."""
    found = rows(_REPOSTS, {"viewer": viewer.pk, "post": post_id, "maximum": MAX_REPOSTS})
    return next(filter(None, (_on_home(viewer, row["id"]) for row in found)), [])


def explain_home(viewer: User, cursor: Cursor) -> Page[Explanation]:
    """A page of a viewer's home as explanations."""
    page = home_timeline(viewer, cursor)
    return page.with_items(explained(viewer, page.items, on_home=True))


def explained(
    viewer: User, items: list[FeedItem], *, on_home: bool, dropped: bool = False
) -> list[Explanation]:
    """Explain each of these posts, all on the viewer's home page or none, in a fixed number of queries.

    `dropped`: they were found for a page, which left them out.
    """
    if not items:
        return []
    post_ids = [item.id for item in items]
    values = {"viewer": viewer.pk, "posts": post_ids, "subscriber": DELIVERY}
    deliveries = {row["id"]: row for row in rows(_DELIVERIES, values)}
    author_ids = {item.author.pk for item in items} | {item.shown.author.pk for item in items}
    author_ids |= authors_of(item.post.reply_to_id for item in items if item.post.reply_to_id)
    reader = _Reader(
        viewer,
        relations=exact_relations(viewer.pk, author_ids),
        tags=followed_names(viewer),
        policies=policy.cached(),
    )
    if on_home:
        cached = _cached_ids(viewer.pk, reader.policies)
        return [_why_present(item, reader, deliveries[item.id], cached) for item in items]
    reader = reader._replace(
        left_out=exclusive_member_ids(viewer),
        languages=chosen_languages(viewer),
        promotions=promotions_for(viewer.pk)(),
        dropped=dropped,
    )
    filters = active_filters_of(viewer)
    marked = [mark(item, filters, FilterContext.HOME) for item in items]
    return [_why_absent(item, reader, deliveries[item.id]) for item in marked]


class _Reader(NamedTuple):
    """Whose page it is, and what decides for all its posts; the last four only about posts that are not on it."""

    viewer: User
    relations: Relations
    tags: Collection[str]
    policies: PoliciesInForce
    left_out: Collection[int] = ()  # members of lists that the home page leaves out
    languages: Mapping[int, Collection[str]] = MappingProxyType({})  # chosen, by author
    promotions: Mapping[int, Promotion] = MappingProxyType({})
    dropped: bool = False  # the page had found them

    def pulls(self, item: FeedItem) -> bool:
        policies = self.policies
        return item.post.is_open and (policies.pulls_all or item.author.pk in policies.pulled)

    def tag_of(self, item: FeedItem) -> str:
        """The followed tag of a post whose author the viewer does not follow; else empty."""
        if item.author.pk in self.relations.following:
            return ""
        return next((name for name in item.post.tags if name in self.tags), "")


def _cached_ids(viewer_id: int, policies: PoliciesInForce) -> Collection[int]:
    """The ids in the viewer's home cache."""
    try:
        kinds = (INBOX,) if policies.pulls_all else (HOME, INBOX)
        ranges = [windows.whole(viewer_id) for windows in kinds]
    except RedisError:
        return ()
    return {post_id for part in ranges if part for post_id in part.ids}


def _why_present(
    item: FeedItem, reader: _Reader, delivery: Row, cached: Collection[int]
) -> Explanation:
    who, when, viewer_id = item.author.handle, None, reader.viewer.pk
    is_reached = _is_reached(viewer_id, delivery)
    if item.author.pk == viewer_id:
        source = Source.OWN
    elif item.post.visibility in (Visibility.CIRCLE, Visibility.FRIENDS):
        source = Source(item.post.visibility)
        when = delivery["finished_at"] if is_reached else None
    elif tag := reader.tag_of(item):
        source, who = Source.TAG, tag
    elif item.promotion is not None:
        source = Source.PROMOTED
    elif item.id in cached:
        source, when = _why_cached(delivery, is_reached=is_reached)
    else:
        source = Source.PULL if reader.pulls(item) else Source.STORAGE
    return _explanation(item, source, who, delivery, on_home=True, when=when)


def _is_reached(viewer_id: int, delivery: Row) -> bool | None:
    """Whether the delivery put a post on this viewer's page; None when that is unknown, or no longer known."""
    if delivery["state"] != State.DONE or delivery["lost"] or delivery["reached"] is None:
        return None
    return viewer_id in unpack(bytes(delivery["reached"]))


def _why_cached(delivery: Row, *, is_reached: bool | None) -> tuple[Source, datetime | None]:
    """How a post came into the viewer's home cache, as far as that is known for this viewer, and when."""
    if is_reached:
        return Source.PUSH, delivery["finished_at"]
    followed_at, started_at = delivery["followed_at"], delivery["started_at"]
    if followed_at is None or started_at is None:
        return Source.FOLLOWED, None
    if followed_at > started_at:
        return Source.BACKFILL, followed_at
    was_listed = followed_at < started_at - COMMIT and not delivery["addressed"]
    if is_reached is False and was_listed:
        return Source.REBUILT, None
    return Source.FOLLOWED, None


def _why_absent(item: FeedItem, reader: _Reader, delivery: Row) -> Explanation:
    source, who = _rule_against(item, reader)
    when = None
    if source is None and (reader.tag_of(item) or reader.pulls(item)):
        source = Source.LOST  # nothing had to be delivered
    elif source is None:
        source, when = _why_not_delivered(delivery)
    return _explanation(item, source, who, delivery, on_home=False, when=when)


def _why_not_delivered(delivery: Row) -> tuple[Source, datetime | None]:
    """What became of the delivery to this viewer, and when it is tried next."""
    if delivery["job"] is None:
        due = delivery["event_due"]
        return (Source.LOST if due is None else Source.WAITING), _ahead(due)
    state = delivery["state"] or delivery["job"]
    if state == State.PENDING:
        return Source.WAITING, _ahead(delivery["due_at"])
    if state == State.DEAD:
        return Source.FAILED, None
    followed_at = delivery["followed_at"]
    was_unsplit = delivery["unsplit"] and delivery["chunk"] is None
    if delivery["lost"] or (was_unsplit and followed_at and followed_at < delivery["started_at"]):
        return Source.GIVEN_UP, None
    return Source.LOST, None


def _ahead(moment: datetime | None) -> datetime | None:
    """A moment in the future; None for one that is past, which means soon."""
    return moment if moment is not None and moment > timezone.now() else None


def _rule_against(item: FeedItem, reader: _Reader) -> tuple[Source | None, str]:
    """The first rule of the home page that a post breaks, and whom it is about; None when it breaks none.

    In the page's order: `home_rule`, then `without_read`, then the filters.
    """
    viewer, relations, author = reader.viewer, reader.relations, item.author
    muted = [user for user in (author, item.shown.author) if user.pk in relations.muting]
    if muted:
        return Source.MUTED, muted[0].handle
    rules = (
        (item.is_repost and author.pk in relations.hiding_reposts, Source.UNSHARED),
        (author.pk in reader.left_out, Source.LISTED),
        (is_unwanted_language(item, reader.languages), Source.LANGUAGE),
        (
            viewer.hides_replies and is_reply_to_stranger(item, relations.following | {viewer.pk}),
            Source.REPLY,
        ),
    )
    if source := next((source for is_broken, source in rules if is_broken), None):
        return source, author.handle
    if not _is_wanted(item, reader):
        tag = reader.tag_of(item)
        return (Source.TAG_NOT_PUBLIC, tag) if tag else (Source.NOT_FOLLOWED, author.handle)
    source = Source.READ if viewer.hides_read and item.shown.flags.read else None
    if source is None and is_hidden(item, FilterContext.HOME):
        return Source.FILTERED, ", ".join(item.warnings)
    if source is None and reader.dropped and not _is_wanted(item, reader._replace(promotions={})):
        source = Source.SPACED
    return source, author.handle


def _is_wanted(item: FeedItem, reader: _Reader) -> bool:
    """Whether anything brings a post to the page: a follow, a circle, a tag or a promotion."""
    post, author_id = item.post, item.author.pk
    return (
        author_id in reader.relations.following
        or author_id == reader.viewer.pk
        or post.visibility == Visibility.CIRCLE
        or (post.visibility == Visibility.PUBLIC and bool(reader.tag_of(item)))
        or promotion_of(post, reader.promotions) is not None
    )


def _explanation(
    item: FeedItem, source: Source, who: str, delivery: Row, *, on_home: bool, when: datetime | None
) -> Explanation:
    return Explanation(
        item=item,
        on_home=on_home,
        source=source,
        who=who,
        when=when,
        policy=delivery["mode"] or "",
        chunk=delivery["chunk"],
        attempts=delivery["attempts"] or 0,
        promotion=item.promotion,
    )


_ADDRESS = re.compile(
    r"(?:(?:https?://)?(?P<host>[^/\s]+))?/(?:@\w+/(?P<id>[0-9]+)|p/(?P<short>[0-9A-Z]{14}))/?(?:[?#].*)?",
    re.ASCII,
)


def post_id_in(text: str, *, host: str) -> int | None:
    """The post id in pasted text: the address of a post of this site, its short address, or a plain id.

    `host` is where the site was asked; that of its own address counts too.
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
    """A question about a post, and its answer; the first that failed keeps the post away."""

    question: str
    answer: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Checklist:
    """Whether a post is on a home page, and the questions that decide it, up to the first that failed.

    `explanation` is None when the post does not exist or is hidden from the viewer. `unasked`: so many more there are.
    """

    outcome: str
    explanation: Explanation | None
    checks: list[Check]
    unasked: int


class _Question(NamedTuple):
    """`passes`: the answer, yes or no, of a post that may stay. `irrelevant`: why this post may stay whatever it is.

    A post of one of the `reasons` fails.
    """

    text: str
    reasons: Collection[Source]
    passes: bool = False
    irrelevant: str = ""

    def check(self, source: Source | None) -> Check:
        """`source`: why the post is not there; None for one that is."""
        has_failed = source in self.reasons
        if self.irrelevant and not has_failed:
            return Check(
                self.text,
                _("It does not matter here: %(why)s.") % {"why": self.irrelevant},
                Mark.IRRELEVANT,
            )
        mark = Mark.FAILED if has_failed else Mark.PASSED
        return Check(self.text, _("Yes.") if self.passes != has_failed else _("No."), mark)


def checklist(viewer: User, post_id: int) -> Checklist:
    """Why a post is not on a viewer's home page, or its position there: the page's rules in order, up to a failure.

    Blocked, deleted, restricted and absent look the same.
    """
    exists = _("Does this post exist, and may you see it?")
    try:
        found = explain(viewer, post_id)
    except NotFound:
        outcome = _("There is no such post, or it is not for you.")
        return Checklist(outcome, None, [Check(exists, _("No."), Mark.FAILED)], 0)
    questions, source = _questions(viewer, found.item), None if found.on_home else found.source
    checks = [Check(exists, _("Yes."), Mark.PASSED)]
    for question in questions:
        checks.append(question.check(source))
        if checks[-1].mark is Mark.FAILED:
            break
    outcome = _position(viewer, found) if found.on_home else _("It is not on your home page.")
    return Checklist(outcome, found, checks, len(questions) + 1 - len(checks))


def _questions(viewer: User, item: FeedItem) -> list[_Question]:
    """In the order in which the page decides."""
    if item.is_repost:
        follow = _("Do you follow the person who reposted it?")
        mute = _("Have you muted its author, or the person who reposted it?")
        language = _("reposts come in every language")
    else:
        follow = _("Do you follow its author, or is it public with a tag that you follow?")
        mute = _("Have you muted its author?")
        language = "" if item.post.language else _("it does not say in which language it is")
    return [
        _Question(mute, (Source.MUTED,)),
        _Question(
            _("Do you hide reposts by this person?"),
            (Source.UNSHARED,),
            irrelevant="" if item.is_repost else _("it is not a repost"),
        ),
        _Question(
            _("Is its author in a list whose posts you leave out of your home page?"),
            (Source.LISTED,),
        ),
        _Question(
            _("Do you read its author in other languages only?"),
            (Source.LANGUAGE,),
            irrelevant=language,
        ),
        _Question(
            _("Is it a reply to somebody you do not follow, and do you hide such replies?"),
            (Source.REPLY,),
            irrelevant=""
            if item.post.reply_to_id and not item.is_repost
            else _("it is not a reply"),
        ),
        _Question(
            follow,
            (Source.NOT_FOLLOWED, Source.TAG_NOT_PUBLIC),
            passes=True,
            irrelevant=_belongs_anyway(viewer, item),
        ),
        _Question(
            _("Have you read it?"),
            (Source.READ,),
            irrelevant="" if viewer.hides_read else _("you do not hide what you have read"),
        ),
        _Question(_("Does one of your filters hide it?"), (Source.FILTERED,)),
        _Question(
            _("Has it arrived on your home page?"),
            (Source.FAILED, Source.WAITING, Source.GIVEN_UP, Source.LOST),
            passes=True,
        ),
    ]


def _belongs_anyway(viewer: User, item: FeedItem) -> str:
    """Why a post may be on the viewer's home page without a follow; empty for one that came by a follow."""
    if item.flags.own:
        return _("it is your own")
    if item.post.visibility == Visibility.CIRCLE:
        return _("it is for a circle that you belong to")
    if item.follows_author or not item.post.tags.keys().isdisjoint(followed_names(viewer)):
        return ""
    return _("it is promoted to you")


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


MAX_CANDIDATES = 200  # read again to find the dropped ones
WIDTH = 1000  # of the bar, in its own units

# Labels of the stages, in the order of a page's assembly. Other stages keep their names.
STAGES = {
    "candidates": gettext_lazy("Read the ids"),
    "windows": gettext_lazy("What was delivered"),
    "inbox": gettext_lazy("Inbox"),
    "merge": gettext_lazy("Merge"),
    "content": gettext_lazy("Posts"),
    "people": gettext_lazy("Authors"),
    "counts": gettext_lazy("Counts"),
    "relations": gettext_lazy("Relations"),
    "flags": gettext_lazy("What you did with them"),
    "rules": gettext_lazy("Rules"),
}


@dataclass(frozen=True, slots=True)
class AssemblyRow:
    """A candidate: at a place of the page, or dropped."""

    explanation: Explanation
    place: int | None = None
    scored: Scored | None = None

    @property
    def is_on_page(self) -> bool:
        return self.place is not None

    @property
    def item(self) -> FeedItem:
        return self.explanation.item


@dataclass(frozen=True, slots=True)
class StageTime:
    """The time of a stage. `start` and `width` are its position in the bar."""

    name: str
    label: str
    milliseconds: float
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Assembly:
    """A page of a home timeline with the account of its assembly."""

    page: Page[FeedItem]
    rows: list[AssemblyRow]
    gone: int
    stages: list[StageTime]
    milliseconds: float
    missing: list[str] = field(default_factory=list)

    @property
    def candidates(self) -> int:
        return len(self.rows) + self.gone

    @property
    def authors(self) -> int:
        return len({row.item.author.pk for row in self.rows})


def assembly(viewer: User, cursor: Cursor) -> Assembly:
    """How a page of a viewer's home was assembled: the time of each stage, the posts on it, the posts dropped and why.

    The page is read once more, by the code that serves it, with timers. Posts that its rules dropped are found by
    reading the same candidates again. Deleted posts and those the reader may not see are only counted: a reason for
    each would tell who blocks whom (reliability: S32).
    """
    began = time.perf_counter()
    with traced() as stages:
        page = home_timeline(viewer, cursor)
    seconds = time.perf_counter() - began
    dropped, gone = _dropped(viewer, cursor, page)
    places = {item.id: place for place, item in enumerate(page.items, start=1)}
    scores = newest_scores(viewer)
    reasons = explained(viewer, page.items, on_home=True)
    reasons += explained(viewer, dropped, on_home=False, dropped=True)
    rows = [
        AssemblyRow(reason, places.get(reason.item.id), scores.get(reason.item.id))
        for reason in sorted(reasons, key=lambda reason: -reason.item.id)
    ]
    return Assembly(page, rows, gone, _bar(stages), seconds * 1000, missing())


def _dropped(viewer: User, cursor: Cursor, page: Page[FeedItem]) -> tuple[list[FeedItem], int]:
    """The candidates within a page that the rules dropped, and the number of those that the viewer may not see."""
    last = page.older if page.older is not None else 0
    on_page = {item.id for item in page.items}
    ids = [
        post_id
        for post_id in candidates(viewer)(cursor, MAX_CANDIDATES)
        if post_id >= last and post_id not in on_page
    ]
    dropped = hydrate(viewer.pk, ids).items
    return dropped, len(ids) - len(dropped)


def _bar(stages: Mapping[str, float]) -> list[StageTime]:
    """The stages side by side, in the order of `STAGES`; stages that wait at the same time each count the wait."""
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
