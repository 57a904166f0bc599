"""Policy `auto`: which mode costs least for an author, by what was measured, and the reason in words.

Pushing costs with every post, once for every follower; pulling costs with every page on which the author is read. How
often and for how many is measured; what one push and one pull take, in microseconds of Redis and Memcached, is an
estimate of the order of what `./run bench timeline` shows. Whoever has been pulled goes
on being pulled until it is clearly dearer (source 004: follower counts change all the time): in at T, out at 0.8 T.
"""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.posts.models import Post, PostCounts
from apps.timeline.fanout import switch
from apps.timeline.models import (
    AuthorPolicy,
    FanoutChunk,
    Mode,
    Policy,
    PolicyChange,
    SitePolicy,
)
from feedcache.ids import first_id_at

DORMANT_MICROSECONDS, LIVE_MICROSECONDS = 1.5, 10.0  # a push to one follower
PULL_MICROSECONDS = 60.0  # one vector more in a page
STAY = 0.8  # of what it takes to be pulled
DAYS = 7
RECEIPTS = 50  # the newest chunks say how many are online
ONLINE_UNKNOWN = 0.2
AUTHORS_BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """What was seen of an author: followers, the share of them online, and posts and reads a day in the last week."""

    followers: int
    online: float
    posts_a_day: float
    reads_a_day: float

    @property
    def push_seconds(self) -> float:
        """What pushing to those online costs a day."""
        each = DORMANT_MICROSECONDS + self.online * LIVE_MICROSECONDS
        return self.posts_a_day * self.followers * each / 1e6

    @property
    def pull_seconds(self) -> float:
        """What pulling costs a day: every read came with a page."""
        return self.reads_a_day * PULL_MICROSECONDS / 1e6


@dataclass(frozen=True, slots=True)
class Choice:
    mode: Mode
    reason: str


def measure(author_id: int) -> MeasuredCost:
    """What can be seen of an author now."""
    week = first_id_at(int((timezone.now() - timedelta(days=DAYS)).timestamp()))
    recent = Post.objects.filter(author=author_id, pk__gte=week, deleted_at=None)
    receipts = FanoutChunk.objects.filter(job__post__author=author_id, state="done", expected__gt=0)
    newest = receipts.order_by("-job", "-pk").values("delivered", "expected")[:RECEIPTS]
    expected = sum(row["expected"] for row in newest)
    delivered = sum(row["delivered"] for row in newest)
    reads = PostCounts.objects.filter(post__in=recent).aggregate(reads=Sum("reads"))["reads"]
    return MeasuredCost(
        followers=UserCounts.objects.values_list("followers", flat=True).get(pk=author_id),
        online=delivered / expected if expected else ONLINE_UNKNOWN,
        posts_a_day=recent.count() / DAYS,
        reads_a_day=(reads or 0) / DAYS,
    )


def choose(seen: MeasuredCost, now: Mode | None) -> Choice:
    """The mode that costs least; who is pulled now stays so until it is clearly not."""
    factor = STAY if now == Mode.PULL else 1.0
    threshold = round(settings.AUTO_PULL_FOLLOWERS * factor)
    figures = _("%(followers)d followers, %(online)d%% of them online, %(posts).1f posts and %(reads).0f reads a day") % {
        "followers": seen.followers, "online": round(seen.online * 100), "posts": seen.posts_a_day, "reads": seen.reads_a_day,
    }  # fmt: skip
    costs = _("pushing would take %(push).1f s a day, pulling %(pull).1f s") % {
        "push": seen.push_seconds, "pull": seen.pull_seconds,
    }  # fmt: skip
    if seen.followers >= threshold and seen.push_seconds >= factor * seen.pull_seconds:
        why = _("pull from %(threshold)d followers on where it is cheaper") % {"threshold": threshold}  # fmt: skip
        return Choice(Mode.PULL, f"{figures}; {costs}: {why}")
    if seen.followers <= settings.AUTO_PUSH_FOLLOWERS:
        why = _("up to %(most)d followers everybody gets it") % {"most": settings.AUTO_PUSH_FOLLOWERS}  # fmt: skip
        return Choice(Mode.PUSH, f"{figures}: {why}")
    return Choice(Mode.ONLINE, f"{figures}; {costs}: {_('pushed to those online')}")


def measure_author(author_id: int) -> Choice:
    """Measure an author whose policy is `auto`, choose, switch if need be, and write down why."""
    row = AuthorPolicy.objects.get(pk=author_id)
    now = Mode(row.mode) if row.mode else None
    seen = measure(author_id)
    choice = choose(seen, now)
    AuthorPolicy.objects.filter(pk=author_id).update(
        reason=choice.reason, measured=asdict(seen), measured_at=timezone.now()
    )
    if choice.mode != now:
        PolicyChange.objects.create(
            author_id=author_id, before=now or Policy.SITE, after=choice.mode, reason=choice.reason, made_by=Policy.AUTO,
        )  # fmt: skip
        switch.apply_mode(author_id, choice.mode)
    return choice


def measure_all() -> int:
    """Choose again for all whose policy is `auto`, and under a site that is `auto` for all large authors; how many."""
    site = SitePolicy.objects.filter(pk=1, policy=Policy.AUTO).exists()
    if site:
        large = Q(counts__followers__gte=settings.AUTO_PULL_FOLLOWERS)
        known = AuthorPolicy.objects.exclude(policy=Policy.SITE).values("author")
        for author in User.objects.filter(large).exclude(pk__in=known)[:AUTHORS_BATCH_SIZE]:
            switch.set_author_policy(author, Policy.AUTO, by=Policy.AUTO, reason=_("The whole site is."))  # fmt: skip
    longest_ago = AuthorPolicy.objects.filter(policy=Policy.AUTO).order_by("measured_at")
    authors = list(longest_ago.values_list("pk", flat=True)[:AUTHORS_BATCH_SIZE])
    for author_id in authors:
        measure_author(author_id)
    return len(authors)


def as_text(measured: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in measured.items())
