"""The rules of timelines: which of the posts that a reader may see belong on a page, and why the others do not.

`decide` applies the rules of a book in order, then the reader's filters; the first rule that drops a post is the
verdict. All timelines of posts, streams, ranked orders and pages of the past use these rules, and so does `/explain`,
so a page and its explanation cannot disagree. The auditor's oracle has rules of its own, to find mistakes here.

A rule is given only an item and the `ReaderFacts` of its page. Whether the reader may see a post at all has already
been decided, in `apps.posts.queries`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.filters.matching import NO_FILTERS
from apps.posts.models import Visibility
from apps.posts.visibility import FOLLOWED_BACK, Audience, delivered_to, depending_on
from apps.timeline.pipeline.facts import ReaderFacts
from apps.timeline.pipeline.items import FeedItem, Promotion
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.pipeline.word_filters import is_hidden, mark
from feedcache.ids import answers_another, author_of

T = TypeVar("T")


def _author(item: FeedItem, _facts: ReaderFacts) -> str:
    return item.author.handle


def _never(_item: FeedItem, _facts: ReaderFacts) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason to keep a post off a page. `applies` returns whether the rule can drop any post for this reader.

    The fields after `applies` are for explanations. `who` returns the handle, the tag, or the filter titles for the
    text of the `reason`. A post passes the rule if the answer to the `question` is `passing_answer` (True: yes);
    `irrelevant` returns why the answer does not matter. Rules with the same question are one line of the checklist on
    /explain. Rules of pages that are never explained leave these fields empty.
    """

    id: str
    keeps_away: Callable[[FeedItem, ReaderFacts], bool]
    applies: Callable[[ReaderFacts], bool] = lambda _facts: True
    who: Callable[[FeedItem, ReaderFacts], str] = _author
    question: Callable[[FeedItem], str] = lambda _item: ""
    passing_answer: bool = False
    irrelevant: Callable[[FeedItem, ReaderFacts], str] = _never

    @property
    def reason(self) -> Reason:
        return Reason(self.id)


class Verdict(NamedTuple):
    """The decision about an item: the rule that drops it (None if it belongs on the page), and `who` for the reason."""

    item: FeedItem
    rule: Rule | None = None
    who: str = ""


class RuleBook(NamedTuple):
    """The rules of a page in order. `label` adds, to each item that passed, why it is on the page."""

    rules: Sequence[Rule]
    label: Callable[[FeedItem, ReaderFacts], FeedItem] = lambda item, _facts: item


def decide(items: Iterable[FeedItem], facts: ReaderFacts, book: RuleBook) -> list[Verdict]:
    """The verdict on each item, in the same order. Filters come last, because they read whole texts."""
    rules = [rule for rule in book.rules if rule.applies(facts)]
    has_filters = FILTERED.applies(facts)
    return [_verdict(item, facts, rules, book, has_filters=has_filters) for item in items]


def passed(items: Iterable[FeedItem], facts: ReaderFacts, book: RuleBook) -> list[FeedItem]:
    """The items that belong on the page."""
    return [verdict.item for verdict in decide(items, facts, book) if verdict.rule is None]


def _verdict(
    item: FeedItem,
    facts: ReaderFacts,
    rules: Sequence[Rule],
    book: RuleBook,
    *,
    has_filters: bool,
) -> Verdict:
    for rule in rules:
        if rule.keeps_away(item, facts):
            return Verdict(item, rule, rule.who(item, facts))
    item = book.label(item, facts)
    if has_filters:
        item = mark(item, facts.filters, facts.context)
        if FILTERED.keeps_away(item, facts):
            return Verdict(item, FILTERED, FILTERED.who(item, facts))
    return Verdict(item)


# Mutes, limits set by staff, and reposts that the reader hides.


def _muted(item: FeedItem, facts: ReaderFacts) -> list[User]:
    """The muted authors of an item: the author of the post, and the author of the post that it reposts."""
    return [user for user in (item.author, item.shown.author) if user.pk in facts.relations.muting]


MUTED = Rule(
    Reason.MUTED,
    lambda item, facts: bool(_muted(item, facts)),
    applies=lambda facts: bool(facts.relations.muting),
    who=lambda item, facts: _muted(item, facts)[0].handle,
    question=lambda item: (
        _("Have you muted its author, or the person who reposted it?")
        if item.is_repost
        else _("Have you muted its author?")
    ),
)


def _limited(item: FeedItem, facts: ReaderFacts) -> list[User]:
    """The item's authors whom staff have limited and the reader does not follow."""
    return [
        part.author
        for part in (item, item.shown)
        if part.author.limited_at and not (part.flags.own or facts.follows(part.author.pk))
    ]


LIMITED = Rule(
    Reason.LIMITED,
    lambda item, facts: bool(_limited(item, facts)),
    who=lambda item, facts: _limited(item, facts)[0].handle,
    question=lambda _item: _("Did the moderators limit an account that you do not follow?"),
)
HIDDEN_REPOST = Rule(
    Reason.HIDDEN_REPOST,
    lambda item, facts: item.is_repost and item.post.author_id in facts.relations.hiding_reposts,
    applies=lambda facts: bool(facts.relations.hiding_reposts),
    question=lambda _item: _("Do you hide reposts by this person?"),
    irrelevant=lambda item, _facts: "" if item.is_repost else _("it is not a repost"),
)

# What the reader of a home page has chosen to leave out.


def is_unwanted_language(item: FeedItem, facts: ReaderFacts) -> bool:
    """Whether the reader hides the author's posts in this language. False for reposts and posts without a language.

    `pt` includes `pt-BR`.
    """
    chosen = facts.languages.get(item.post.author_id)
    if not chosen or not item.post.language or item.is_repost:
        return False
    language = item.post.language.lower()
    return language not in chosen and language.partition("-")[0] not in chosen


def is_reply_to_stranger(item: FeedItem, facts: ReaderFacts) -> bool:
    """Whether a post replies to an account that the reader does not follow.

    False for the reader's own posts, for reposts, and for replies to the reader or to the post's own author. The
    parent's author is known from its id, even if the parent is deleted or hidden.
    """
    parent_id = item.post.reply_to_id
    if parent_id is None or item.flags.own or not answers_another(parent_id, item.post.author_id):
        return False
    return not facts.follows(author_of(parent_id))


def _why_language_does_not_matter(item: FeedItem, _facts: ReaderFacts) -> str:
    if item.is_repost:
        return _("reposts appear in every language")
    return "" if item.post.language else _("it does not state its language")


LISTED = Rule(
    Reason.LISTED,
    lambda item, facts: item.post.author_id in facts.listed,
    applies=lambda facts: bool(facts.listed),
    question=lambda _item: _("Is its author in a list whose posts you hide from your home page?"),
)
LANGUAGE = Rule(
    Reason.LANGUAGE,
    is_unwanted_language,
    applies=lambda facts: bool(facts.languages),
    question=lambda _item: _("Do you read its author only in other languages?"),
    irrelevant=_why_language_does_not_matter,
)
REPLY = Rule(
    Reason.REPLY,
    is_reply_to_stranger,
    applies=lambda facts: facts.viewer is not None and facts.viewer.hides_replies,
    question=lambda _item: _(
        "Is it a reply to somebody you do not follow, and do you hide such replies?"
    ),
    irrelevant=lambda item, _facts: (
        "" if item.post.reply_to_id and not item.is_repost else _("it is not a reply")
    ),
)

# Conditions for a post to be on a home page. Home caches may still contain posts of former followees.

OF_CIRCLES = delivered_to(Audience.CIRCLE)
OF_FRIENDS = depending_on(FOLLOWED_BACK)


def _is_followed(item: FeedItem, facts: ReaderFacts) -> bool:
    """Whether a post belongs here because of a follow, a friendship or a circle, or because it is the reader's own."""
    post = item.post
    if item.flags.own:
        return True
    if post.visibility in OF_CIRCLES:
        return facts.circles is None or post.circle_id in facts.circles
    if post.visibility in OF_FRIENDS and facts.friends is not None:
        return post.author_id in facts.friends
    return post.author_id in facts.relations.following


def _tag(item: FeedItem, facts: ReaderFacts) -> str:
    """The first of a post's tags that the reader follows, in the post's spelling; empty if there is none."""
    if not facts.tags:
        return ""
    return next((spelled for name, spelled in item.post.tags.items() if name in facts.tags), "")


def _has_public_tag(item: FeedItem, facts: ReaderFacts) -> bool:
    return item.post.visibility == Visibility.PUBLIC and bool(_tag(item, facts))


def _is_unwanted(item: FeedItem, facts: ReaderFacts) -> bool:
    """Whether neither a follow nor a tag nor a promotion puts a post here. Promotions are looked up last."""
    if _is_followed(item, facts) or _has_public_tag(item, facts):
        return False
    return not item.post.is_open or facts.promotion_of(item.post) is None


def _what_brought(item: FeedItem, facts: ReaderFacts) -> FeedItem:
    """The item with the reason why it is here, if not obvious: a tag, a promotion, or a follow newer than the post."""
    if _is_followed(item, facts):
        since = facts.followed_since.get(item.post.author_id)
        if since and item.post.created_ms < since * 1000:
            return item._replace(followed_at=datetime.fromtimestamp(since, UTC))
        return item
    if _has_public_tag(item, facts):
        return item._replace(followed_tag=_tag(item, facts))
    return item._replace(promotion=facts.promotion_of(item.post))


def _asks_for_follow(item: FeedItem) -> str:
    if item.is_repost:
        return _("Do you follow the person who reposted it?")
    return _("Do you follow its author, or is it a public post with a tag you follow?")


def _why_no_follow_is_needed(item: FeedItem, facts: ReaderFacts) -> str:
    if item.flags.own:
        return _("it is your own")
    if item.post.visibility in OF_CIRCLES:
        return _("it is for a circle that you belong to")
    if facts.follows(item.post.author_id) or _tag(item, facts):
        return ""
    return _("it is promoted to you")


NOT_FOLLOWED = Rule(
    Reason.NOT_FOLLOWED,
    _is_unwanted,
    question=_asks_for_follow,
    passing_answer=True,
    irrelevant=_why_no_follow_is_needed,
)
# The same question as NOT_FOLLOWED, placed before it, with a more precise reason.
TAG_NOT_PUBLIC = replace(
    NOT_FOLLOWED,
    id=Reason.TAG_NOT_PUBLIC,
    keeps_away=lambda item, facts: bool(_tag(item, facts)) and _is_unwanted(item, facts),
    applies=lambda facts: bool(facts.tags),
    who=_tag,
)
READ = Rule(
    Reason.READ,
    # the Bloom filter reports one unread post in a hundred as read
    lambda item, _facts: item.shown.flags.read,
    applies=lambda facts: facts.hides_read,
    question=lambda _item: _("Have you read it?"),
    irrelevant=lambda _item, facts: (
        "" if facts.hides_read else _("you do not hide what you have read")
    ),
)
FILTERED = Rule(
    Reason.FILTERED,
    lambda item, facts: is_hidden(item, facts.context),
    applies=lambda facts: facts.filters is not NO_FILTERS,
    who=lambda item, _facts: ", ".join(item.warnings),
    question=lambda _item: _("Does one of your filters hide it?"),
)

EVERYTHING = RuleBook(())  # only the reader's filters apply
NOT_MUTED = RuleBook((MUTED, LIMITED))
LIST_RULES = RuleBook((MUTED, LIMITED, HIDDEN_REPOST))
HOME_RULES = RuleBook(
    (MUTED, LIMITED, HIDDEN_REPOST, LISTED, LANGUAGE, REPLY, TAG_NOT_PUBLIC, NOT_FOLLOWED, READ),
    label=_what_brought,
)


def only(name: str, belongs: Callable[[FeedItem], bool], book: RuleBook = EVERYTHING) -> RuleBook:
    """A rule book for posts that `belongs` accepts and that break no rule of `book`."""
    rule = Rule(name, lambda item, _facts: not belongs(item))
    return RuleBook((rule, *book.rules), label=book.label)


# The positions of promoted posts, decided after all rules, because they depend on the other posts on the page.

OTHERS_BETWEEN = 7  # the minimum number of other posts above a promoted one
# The verdict on items that `spaced` has dropped; it is in no rule book.
SPACED = Rule(Reason.SPACED, lambda _item, _facts: False, applies=lambda _facts: False)


def spaced(items: Sequence[T], promotion_of: Callable[[T], Promotion | None]) -> list[T]:
    """Drop promoted items that are too close together. `items` begins at the top of a page.

    A promoted item needs seven others above it, and seven between it and the previous promoted item. So at most one
    item in eight is promoted, never two in a row, and never the first.
    """
    kept, others = list[T](), 0
    for item in items:
        if promotion_of(item) is None:
            others += 1
        elif others < OTHERS_BETWEEN:
            continue
        else:
            others = 0
        kept.append(item)
    return kept
