"""The algorithms that come with the site. They do not use a learned model, and readers can see every figure in them."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import log1p

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.engagement.models import Like
from apps.posts.models import Counts, Post
from apps.ranking.algorithms import Algorithm, Explanation, Factor, Scored, best_first
from apps.tags.queries import followed_names
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import author_of, second_of

HALF_LIFE_HOURS = 12.0
ENGAGEMENT_FOR_1 = 1000.0  # the weighted number of reactions for which the value is 1
AFFINITY_FOR_1 = 20.0  # the number of the reader's reactions to the author for which the value is 1
REPLY_WEIGHT, REPOST_WEIGHT = 3, 2  # a reply counts as three likes, a repost as two
MAX_REACTIONS = 300  # the reader's newest likes, and as many of the reader's newest posts
REACTIONS_PERIOD = timedelta(days=60)


def recency(age_hours: float) -> float:
    return float(0.5 ** (max(age_hours, 0.0) / HALF_LIFE_HOURS))


def engagement(counts: Counts) -> float:
    reactions = counts.likes + REPOST_WEIGHT * counts.reposts + REPLY_WEIGHT * counts.replies
    return min(log1p(reactions) / log1p(ENGAGEMENT_FOR_1), 1.0)


def affinity(reactions: int) -> float:
    """The closeness of a reader to an author, from 0 to 1, given the number of reactions."""
    return min(log1p(reactions) / log1p(AFFINITY_FOR_1), 1.0)


def reactions_of(viewer_id: int) -> Counter[int]:
    """Count a reader's recent likes, reposts, quotes and replies per author, in two bounded queries."""
    since = timezone.now() - REACTIONS_PERIOD
    likes = Like.objects.filter(user=viewer_id, created_at__gt=since).order_by("-pk")
    posts = Post.objects.filter(author=viewer_id, deleted_at=None, created_at__gt=since)
    post_ids = list(likes.values_list("post", flat=True)[:MAX_REACTIONS])
    for targets in posts.order_by("-pk").values_list("reply_to", "source")[:MAX_REACTIONS]:
        post_ids += [post_id for post_id in targets if post_id is not None]
    reactions = Counter(author_of(post_id) for post_id in post_ids)
    reactions.pop(viewer_id, None)  # reactions to one's own posts do not count
    return reactions


def explain_by_time(_viewer: User, items: Sequence[FeedItem]) -> list[Explanation]:
    now = timezone.now()
    return [{"recency": recency(_age_hours(item, now))} for item in items]


def explain_light(viewer: User, items: Sequence[FeedItem]) -> list[Explanation]:
    reactions, now = reactions_of(viewer.pk), timezone.now()
    return [
        {
            "recency": recency(_age_hours(item, now)),
            "engagement": engagement(item.shown.counts),
            "affinity": affinity(reactions[item.shown.author.pk]),
        }
        for item in items
    ]


def explain_heavy(viewer: User, items: Sequence[FeedItem]) -> list[Explanation]:
    """The values of the factors. Time is not one of them: `newer_by_score` adds the time of the post to the score."""
    reactions, tags = reactions_of(viewer.pk), followed_names(viewer)
    return [
        {
            "affinity": affinity(reactions[item.shown.author.pk]),
            "topics": float(not tags.isdisjoint(item.shown.post.tags)),
            "engagement": engagement(item.shown.counts),
        }
        for item in items
    ]


def newer_by_score(scored: Scored) -> float:
    """The position of a post as if it were `score` hours newer, so the order of two posts never changes with time."""
    return second_of(scored.post_id) / 3600 + scored.score


def _age_hours(item: FeedItem, now: datetime) -> float:
    return (now - item.post.created_at).total_seconds() / 3600


def _new(weight: float) -> Factor:
    return Factor("recency", _("New"), _("It is new."), weight)


def _discussed(weight: float) -> Factor:
    return Factor(
        "engagement", _("Talked about"), _("Many people reply to, repost or like it."), weight
    )


def _close(weight: float) -> Factor:
    reason = _("You often react to posts by @%(who)s.")
    return Factor("affinity", _("Close to you"), reason, weight)


def _topics(weight: float) -> Factor:
    return Factor("topics", _("Your tags"), _("It has a tag that you follow."), weight)


chronological = Algorithm(
    name="chronological",
    label=_("Newest first"),
    description=_("By time only; a post that several people repost appears once."),
    factors=(_new(1.0),),
    scorer=explain_by_time,
    selector=best_first,
)

light = Algorithm(
    name="light",
    label=_("Balanced"),
    description=_("New posts, posts with many reactions, and people you often react to."),
    factors=(_new(0.45), _discussed(0.30), _close(0.25)),
    scorer=explain_light,
)

discussed = Algorithm(
    name="discussed",
    label=_("Most discussed"),
    description=_("Posts with many replies, reposts or likes first."),
    factors=(_new(0.20), _discussed(0.70), _close(0.10)),
    scorer=explain_light,
)

# the weights are numbers of hours
heavy = Algorithm(
    name="heavy",
    label=_("For you"),
    description=_(
        "Newest first, but relevant posts rank as if they were hours newer: those by people you often react to, with"
        " tags you follow, or with many reactions. A score is a number of hours."
    ),
    factors=(_close(24.0), _topics(12.0), _discussed(12.0)),
    scorer=explain_heavy,
    position=newer_by_score,
    prepared=True,
)
