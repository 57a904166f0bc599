"""Finds the people in a segment by its rules: stated traits, languages, follows, tags, last post, sign-up date.

Rules use nothing else about a person: no texts, no likes, no restricted posts. Conditions on other tables are
subqueries for ids, because Citus does not run correlated subqueries on the accounts, a table of which every server has
a copy.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, timedelta
from functools import reduce

from django.db.models import Q, QuerySet, Value
from django.utils import timezone

from apps.accounts.models import User, UserCounts
from apps.graph.models import Follower
from apps.promotions.models import (
    MAX_ACTIVE_SEGMENTS,
    OptOut,
    RuleKind,
    Segment,
    SegmentRule,
    UserTrait,
)
from apps.tags.models import TagFollow
from feedcache.ids import FIRST_SECOND, first_id_at


def active_segments() -> list[Segment]:
    """The active segments with their rules, in two queries."""
    rows = Segment.objects.filter(is_active=True).order_by("pk").prefetch_related("rules")
    return list(rows[:MAX_ACTIVE_SEGMENTS])


def people_in(segment: Segment) -> QuerySet[User]:
    """The accounts that match all rules of a segment, without those inactive, suspended or opted out of promotions."""
    rules = list(segment.rules.all())
    if not rules or not segment.is_active:
        return User.objects.none()
    conditions = reduce(Q.__and__, (_CONDITIONS[RuleKind(rule.kind)](rule) for rule in rules))
    members = User.objects.filter(conditions, is_active=True, suspended_at=None)
    return members.exclude(pk__in=OptOut.objects.values("user"))


def matches(segments: Iterable[Segment], *, first: int, last: int) -> set[tuple[int, int]]:
    """Pairs (user id, segment id) for accounts with ids from `first` to `last`, in one query."""
    people = (
        people_in(segment).filter(pk__gte=first, pk__lte=last).annotate(segment=Value(segment.pk))
        for segment in segments
        if segment.rules.all()
    )
    rows = [found.order_by().values_list("pk", "segment") for found in people]
    if not rows:
        return set()
    return set(rows[0].union(*rows[1:], all=True))


def _states(rule: SegmentRule) -> Q:
    return Q(pk__in=UserTrait.objects.filter(trait=rule.trait_id).values("user"))


def _has_language(rule: SegmentRule) -> Q:
    """Match the language that the user has chosen for pages or for posts, with or without a region."""
    posts = Q(post_language=rule.language) | Q(post_language__startswith=f"{rule.language}-")
    pages = Q(interface_language=rule.language) | Q(
        interface_language__startswith=f"{rule.language}-"
    )
    return posts | pages


def _follows_account(rule: SegmentRule) -> Q:
    return Q(pk__in=Follower.objects.filter(owner=rule.account_id).values("follower"))


def _follows_tag(rule: SegmentRule) -> Q:
    return Q(pk__in=TagFollow.objects.filter(tag=rule.tag_id).values("user"))


def _is_active(rule: SegmentRule) -> Q:
    """Match by the id of the last open post, which contains its time."""
    since = timezone.now() - timedelta(days=rule.days or 0)
    second = max(int(since.timestamp()), FIRST_SECOND)
    recent = UserCounts.objects.filter(last_open_post_id__gte=first_id_at(second))
    return Q(pk__in=recent.values("user"))


def _joined(rule: SegmentRule) -> Q:
    day = rule.since or datetime.now(UTC).date()
    return Q(created_at__gte=datetime.combine(day, time(), UTC))


_CONDITIONS: dict[RuleKind, Callable[[SegmentRule], Q]] = {
    RuleKind.TRAIT: _states,
    RuleKind.LANGUAGE: _has_language,
    RuleKind.FOLLOWS_ACCOUNT: _follows_account,
    RuleKind.FOLLOWS_TAG: _follows_tag,
    RuleKind.ACTIVE: _is_active,
    RuleKind.JOINED: _joined,
}
