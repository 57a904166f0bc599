"""Reads posts to examine, the policy, and what staff have decided about posts."""

from collections.abc import Collection, Sequence
from datetime import date, datetime, time, timedelta
from itertools import islice, pairwise

from django.apps import apps
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.models import User
from apps.moderation.models import Report, ReportedPost
from apps.posts.content.text import segments
from apps.posts.models import OPEN, Kind, Mention, Post
from apps.spam.heuristics import Candidate, Heuristic, available, sentences
from apps.spam.models import Policy, Verdict
from feedcache.ids import first_id_at

MAX_LINKS = 10  # examined per post
MAX_VERDICTS = 10  # on the page of a report
SLOTS, PER_SLOT = 48, 50  # a day is sampled in half hours
ACTED, DISMISSED, WAITING, NONE = "acted", "dismissed", "waiting", "none"


def policy_in_force() -> Policy:
    return Policy.objects.filter(pk=1).first() or Policy()


def used_by(policy: Policy) -> list[Heuristic]:
    """The heuristics of this site that staff have not switched off."""
    return [one for one in available().values() if one.id not in policy.switched_off]


def candidates(post_ids: Collection[int]) -> list[Candidate]:
    """The posts among these that may be examined, in the order of their ids: public and quiet public ones that have not
    been deleted, except reposts and posts of staff. Two queries.
    """
    rows = _written_posts().filter(pk__in=post_ids).exclude(author__is_staff=True).order_by("pk")
    posts = list(
        rows.values_list(
            "pk", "author_id", "body", "created_at", "author__created_at", "reply_to_id"
        )
    )
    mentioned: dict[int, list[int]] = {post_id: [] for post_id, *_rest in posts}
    for post_id, user_id in Mention.objects.filter(post__in=list(mentioned)).values_list(
        "post_id", "user_id"
    ):
        mentioned[post_id].append(user_id)
    return [
        Candidate(*values, mentioned=mentioned[values[0]], links=_links(values[2]))
        for values in posts
    ]


def _written_posts() -> QuerySet[Post]:
    """Public and quiet public posts that have not been deleted, without reposts."""
    return Post.objects.filter(deleted_at=None, visibility__in=OPEN).exclude(kind=Kind.REPOST)


def _links(body: str) -> list[str]:
    found = (segment.value for segment in segments(body) if segment.kind == "url")
    return list(islice(dict.fromkeys(found), MAX_LINKS))


def verdicts_of(report: Report) -> list[tuple[Verdict, list[str]]]:
    """The newest verdicts that the site reported in a report, each with its reasons in the current language."""
    rows = Verdict.objects.filter(report=report).order_by("-pk")[:MAX_VERDICTS]
    return [(row, sentences(row.reasons)) for row in rows]


def yesterday() -> date:
    return timezone.localdate() - timedelta(days=1)


def sample(day: date) -> tuple[list[int], bool]:
    """Ids of posts of a day, at most PER_SLOT of each half hour, and whether some posts were left out."""
    zone = timezone.get_default_timezone()
    begin, end = (
        datetime.combine(one, time.min, zone).timestamp() for one in (day, day + timedelta(days=1))
    )
    bounds = [int(begin + (end - begin) * slot / SLOTS) for slot in range(SLOTS + 1)]
    ids: list[int] = []
    is_partial = False
    for first, last in pairwise(bounds):
        rows = _written_posts().filter(pk__gte=first_id_at(first), pk__lt=first_id_at(last))
        found = list(rows.order_by("pk").values_list("pk", flat=True)[: PER_SLOT + 1])
        is_partial = is_partial or len(found) > PER_SLOT
        ids += found[:PER_SLOT]
    return ids, is_partial


def outcomes(posts: Sequence[Candidate], site_id: int | None) -> dict[int, str]:
    """What staff have decided about posts: ACTED, DISMISSED, WAITING (for an answer to a report) or NONE.

    ACTED: a measure about the post, or about its author since the post, is in force. A measure of the site itself
    counts only once staff have closed its report. DISMISSED: a measure was taken back, or a report about the post was
    closed without one. Without `apps.strikes`, the only known measures are those in `_closed_accounts`. Two queries.
    """
    ids, fields = [post.id for post in posts], ("post_id", "report__resolved_at")
    reported = ReportedPost.objects.filter(post__in=ids).values_list(*fields)
    # posts of an account that share a report of the site, which names only the first
    shared = Verdict.objects.filter(post_id__in=ids, report__isnull=False).values_list(*fields)
    resolved: dict[str, set[int]] = {NONE: set(), WAITING: set()}
    for post_id, resolved_at in reported.union(shared):
        resolved[WAITING if resolved_at is None else NONE].add(post_id)
    read = _strikes if apps.is_installed("apps.strikes") else _closed_accounts
    acted, undone = read(posts, site_id)
    found = {}
    for post in posts:
        if post.id in acted:
            found[post.id] = ACTED
        elif post.id in resolved[WAITING]:
            found[post.id] = WAITING
        else:
            is_dismissed = post.id in undone or post.id in resolved[NONE]
            found[post.id] = DISMISSED if is_dismissed else NONE
    return found


def _strikes(posts: Sequence[Candidate], site_id: int | None) -> tuple[set[int], set[int]]:
    """The posts with a strike in force that staff took or confirmed, and those with a strike that was taken back."""
    from apps.strikes.models import Strike  # noqa: PLC0415 -- optional

    since = min((post.created_at for post in posts), default=timezone.now())
    about_authors = Q(
        user__in={post.author_id for post in posts}, post_id=None, created_at__gte=since
    )
    rows = Strike.objects.filter(Q(post_id__in=[post.id for post in posts]) | about_authors)
    acted: set[int] = set()
    undone: set[int] = set()
    for post_id, user_id, by, at, undone_at, resolved_at in rows.values_list(
        "post_id", "user_id", "by_id", "created_at", "undone_at", "report__resolved_at"
    ):
        if by == site_id and undone_at is None and resolved_at is None:
            continue  # nobody has looked at it
        concerned = {
            post.id
            for post in posts
            if post.id == post_id
            or (post_id is None and post.author_id == user_id and at >= post.created_at)
        }
        (acted if undone_at is None else undone).update(concerned)
    return acted, undone


def _closed_accounts(posts: Sequence[Candidate], _site_id: int | None) -> tuple[set[int], set[int]]:
    """The posts whose authors are suspended or limited, perhaps since before the post. Used without `apps.strikes`."""
    measures = Q(suspended_at__isnull=False) | Q(limited_at__isnull=False)
    authors = User.objects.filter(
        measures, pk__in={post.author_id for post in posts}, erased_at=None
    )
    closed = set(authors.values_list("pk", flat=True))
    return {post.id for post in posts if post.author_id in closed}, set()
