"""Policy `auto`: choose the cheapest mode for an author from measurements, and give the reason in words.

Pushing costs once per post and follower; pulling costs once per page that shows the author. Posts, followers and reads
are measured on the site; the cost of one push and one pull, in processor time of Redis and of the process that does it,
is what `./run bench timeline --only units` measured (`unit_costs`). A pulled author stays pulled until that is clearly
more expensive (source 004: follower counts change all the time): in at T, out at 0.8 T.
"""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.posts.models import Post, PostCounts
from apps.timeline.fanout import switch, unit_costs
from apps.timeline.models import (
    AuthorPolicy,
    FanoutChunk,
    Mode,
    Policy,
    PolicyChange,
    SitePolicy,
)
from feedcache.ids import first_id_at

STAY_FACTOR = 0.8  # of the thresholds, for authors who are pulled already
DAYS = 7
RECEIPTS = 50  # the newest chunks, for the share of followers online
DEFAULT_ONLINE = 0.2
AUTHORS_BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """Followers of an author, the share of them online, and posts and reads a day in the last week."""

    followers: int
    online: float
    posts_a_day: float
    reads_a_day: float

    @property
    def push_seconds(self) -> float:
        """Cost of pushing to the followers online, per day."""
        away, online = unit_costs.AWAY, unit_costs.ONLINE
        each = away.redis + away.process + self.online * (online.redis + online.process)
        return self.posts_a_day * self.followers * each / 1e6

    @property
    def pull_seconds(self) -> float:
        """Cost of pulling, per day: one vector per read."""
        return self.reads_a_day * unit_costs.PULL_MICROSECONDS / 1e6


@dataclass(frozen=True, slots=True)
class Choice:
    mode: Mode
    reason: str


def measure(author_id: int) -> MeasuredCost:
    week = first_id_at(int((timezone.now() - timedelta(days=DAYS)).timestamp()))
    recent = Post.objects.filter(author=author_id, pk__gte=week, deleted_at=None)
    reads = PostCounts.objects.filter(post__in=recent).aggregate(reads=Sum("reads"))["reads"]
    return MeasuredCost(
        followers=UserCounts.objects.values_list("followers", flat=True).get(pk=author_id),
        online=online_share(author_id),
        posts_a_day=recent.count() / DAYS,
        reads_a_day=(reads or 0) / DAYS,
    )


def online_share(author_id: int | None = None) -> float:
    """Of the followers in the newest receipts, of an author or of all; a guess without any."""
    receipts = FanoutChunk.objects.filter(state="done", expected__gt=0)
    if author_id is not None:
        receipts = receipts.filter(job__post__author=author_id)
    newest = list(receipts.order_by("-job", "-pk").values("delivered", "expected")[:RECEIPTS])
    expected = sum(row["expected"] for row in newest)
    return sum(row["delivered"] for row in newest) / expected if expected else DEFAULT_ONLINE


def choose(measured: MeasuredCost, current: Mode | None) -> Choice:
    """The cheapest mode; an author who is pulled now stays so above `STAY_FACTOR` of the thresholds."""
    factor = STAY_FACTOR if current == Mode.PULL else 1.0
    threshold = round(settings.AUTO_PULL_FOLLOWERS * factor)
    figures = _(
        "%(followers)d followers, %(online)d%% of them online, %(posts).1f posts and %(reads).0f reads a day"
    ) % {
        "followers": measured.followers,
        "online": round(measured.online * 100),
        "posts": measured.posts_a_day,
        "reads": measured.reads_a_day,
    }
    costs = _("pushing would take %(push).1f s a day, pulling %(pull).1f s") % {
        "push": measured.push_seconds,
        "pull": measured.pull_seconds,
    }
    is_cheaper = measured.push_seconds >= factor * measured.pull_seconds
    if measured.followers >= threshold and is_cheaper:
        why = _("pull from %(threshold)d followers on where it is cheaper") % {
            "threshold": threshold
        }
        return Choice(Mode.PULL, f"{figures}; {costs}: {why}")
    if measured.followers <= settings.AUTO_PUSH_FOLLOWERS:
        why = _("up to %(most)d followers everybody gets it") % {
            "most": settings.AUTO_PUSH_FOLLOWERS
        }
        return Choice(Mode.PUSH, f"{figures}: {why}")
    return Choice(Mode.ONLINE, f"{figures}; {costs}: {_('pushed to those online')}")


def measure_author(author_id: int) -> Choice:
    """Measure an author whose policy is `auto`, choose a mode, switch if it is another, and record the reason."""
    row = AuthorPolicy.objects.get(pk=author_id)
    current = Mode(row.mode) if row.mode else None
    measured = measure(author_id)
    choice = choose(measured, current)
    AuthorPolicy.objects.filter(pk=author_id).update(
        reason=choice.reason, measured=asdict(measured), measured_at=timezone.now()
    )
    if choice.mode != current:
        PolicyChange.objects.create(
            author_id=author_id,
            before=current or Policy.SITE,
            after=choice.mode,
            reason=choice.reason,
            made_by=Policy.AUTO,
        )
        switch.apply_mode(author_id, choice.mode)
    return choice


def measure_all() -> int:
    """Choose again for a batch of authors whose policy is `auto`, the longest unmeasured first; the number of authors.

    While the policy of the site is `auto`, large authors without a policy of their own get it too.
    """
    if SitePolicy.objects.filter(pk=1, policy=Policy.AUTO).exists():
        large = User.objects.filter(counts__followers__gte=settings.AUTO_PULL_FOLLOWERS)
        with_policy = AuthorPolicy.objects.exclude(policy=Policy.SITE).values("author")
        for author in large.exclude(pk__in=with_policy)[:AUTHORS_BATCH_SIZE]:
            switch.set_author_policy(
                author, Policy.AUTO, by=Policy.AUTO, reason=_("The whole site is.")
            )
    longest_ago = AuthorPolicy.objects.filter(policy=Policy.AUTO).order_by("measured_at")
    authors = list(longest_ago.values_list("pk", flat=True)[:AUTHORS_BATCH_SIZE])
    for author_id in authors:
        measure_author(author_id)
    return len(authors)


def as_text(measured: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in measured.items())
