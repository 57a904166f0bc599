"""The policy `auto`: measures the cost of an author's deliveries, chooses a mode, and records the reason.

A push costs time for each post and follower, a pull for each page whose reader follows the author. Pages are not
counted: the people who open the author's posts stand for them. The processor time of one push (in Redis and the
worker) and of one pull (in the web process) was measured with `./run bench timeline --only units`. Follower counts
change all the time (source 004), so an author who is pulled is pushed again only if the followers fall below 80 % of
AUTO_PULL_FOLLOWERS, or if the cost of pushing falls below 80 % of the cost of pulling.
"""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.events.leases import State
from apps.posts.models import Post, PostCounts
from apps.timeline.fanout import switch
from apps.timeline.fanout.author_receipts import duration, exact
from apps.timeline.fanout.progress import delivery_progress, with_receipts
from apps.timeline.models import (
    AuthorPolicy,
    FanoutChunk,
    FanoutJob,
    Mode,
    Policy,
    PolicyChange,
    SitePolicy,
)
from feedcache.ids import first_id_at

STAY_FACTOR = 0.8  # lowers the thresholds for authors who are already pulled
DAYS = 7
RECEIPTS = 50  # the number of newest chunks from which the share of followers online is computed
DEFAULT_ONLINE = 0.2
AUTHORS_BATCH_SIZE = 500
JOBS = 20  # the number of newest jobs that are searched for the last finished one
# Measured on one machine. Only their proportions matter, because a faster machine reduces all three.
AWAY_MICROSECONDS = 0.82  # a follower without a home cache
ONLINE_MICROSECONDS = 19.4  # the additional cost of a follower with a home cache
PULL_MICROSECONDS = 20.5  # a pulled author, on a page of a reader who follows them


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """The number of an author's followers, the share who are online, and last week's posts and reads per day."""

    followers: int
    online: float
    posts_a_day: float
    reads_a_day: float

    @property
    def push_seconds(self) -> float:
        """Processor seconds per day for pushing to all followers."""
        each = AWAY_MICROSECONDS + self.online * ONLINE_MICROSECONDS
        return self.posts_a_day * self.followers * each / 1e6

    @property
    def pull_seconds(self) -> float:
        """Processor seconds per day for pulling, with one pull for each post and each person who opened it."""
        return self.reads_a_day * PULL_MICROSECONDS / 1e6


@dataclass(frozen=True, slots=True)
class LastDelivery:
    """The last finished delivery of a post to followers; `seconds` is the time from publication to its last receipt."""

    post_id: int
    followers: int
    home_caches: int
    seconds: float


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
    """The share of followers online in the newest receipts of one author or of all; a default without receipts."""
    receipts = FanoutChunk.objects.filter(state="done", expected__gt=0)
    if author_id is not None:
        receipts = receipts.filter(job__post__author=author_id)
    newest = list(receipts.order_by("-job", "-pk").values("delivered", "expected")[:RECEIPTS])
    expected = sum(row["expected"] for row in newest)
    return sum(row["delivered"] for row in newest) / expected if expected else DEFAULT_ONLINE


def last_delivery(author: User | None = None) -> LastDelivery | None:
    """The last finished delivery of an author, or of anybody; None if none of the newest jobs is finished."""
    jobs = FanoutJob.objects.exclude(mode=Mode.PULL).filter(state=State.DONE, parts__gt=0)
    if author is not None:
        jobs = jobs.filter(post__author=author)
    newest = jobs.prefetch_related("post").order_by("-pk")[:JOBS]
    for job in with_receipts(newest):
        progress = delivery_progress(job)
        if progress.pending or progress.lost or job.last_receipt is None:
            continue
        taken = max((job.last_receipt - job.post.created_at).total_seconds(), 0.0)
        return LastDelivery(job.pk, progress.expected, progress.delivered, taken)
    return None


def before_switch(author: User | None = None) -> list[tuple[str, str]]:
    """The measured cost of the deliveries of an author, or of the site, as labels and figures."""
    last = last_delivery(author)
    if last is None:
        delivered = _("There is no finished delivery yet.")
    else:
        delivered = _("home caches of %(home_caches)s of %(followers)s followers, in %(time)s") % {
            "home_caches": exact(last.home_caches),
            "followers": exact(last.followers),
            "time": duration(last.seconds),
        }
    found = [(_("the last delivery of a post"), delivered)]
    if author is None:
        return [*found, (_("followers online"), f"{online_share():.0%}")]
    measured = measure(author.pk)
    online = measured.followers * measured.online
    followers = _("%(followers)s, %(online)s %% of them online") % {
        "followers": exact(measured.followers),
        "online": round(measured.online * 100),
    }
    return [
        *found,
        (_("followers"), followers),
        (_("posts a day"), f"{measured.posts_a_day:.1f}"),
        (
            _("home caches written per day, if pushed to those online"),
            exact(round(measured.posts_a_day * online)),
        ),
        (_("outboxes read per day, if pulled"), exact(round(measured.reads_a_day))),
    ]


def choose(measured: MeasuredCost, current: Mode | None) -> Choice:
    """Pull if it is cheaper and there are many followers, push if there are few, otherwise choose `online`.

    For an author who is pulled now, both thresholds of a pull (followers and cost) are multiplied by `STAY_FACTOR`.
    """
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
        text = _("from %(threshold)d followers on, pull if it is cheaper")
        if current == Mode.PULL:
            text = _(
                "stays pulled with %(threshold)d followers or more, until pushing is clearly cheaper"
            )
        why = text % {"threshold": threshold}
        return Choice(Mode.PULL, f"{figures}; {costs}: {why}")
    if measured.followers <= settings.AUTO_PUSH_FOLLOWERS:
        why = _("with up to %(most)d followers, everybody gets it") % {
            "most": settings.AUTO_PUSH_FOLLOWERS
        }
        return Choice(Mode.PUSH, f"{figures}: {why}")
    return Choice(Mode.ONLINE, f"{figures}; {costs}: {_('pushed to those online')}")


def measure_author(author_id: int) -> Choice:
    """Measure an author whose policy is `auto`, choose a mode, record the reason, and switch if the mode differs.

    If staff set another policy in the meantime, it stays in force.
    """
    row = AuthorPolicy.objects.get(pk=author_id)
    current = Mode(row.mode) if row.mode else None
    measured = measure(author_id)
    choice = choose(measured, current)
    automatic = AuthorPolicy.objects.filter(pk=author_id, policy=Policy.AUTO)
    is_auto = automatic.update(
        reason=choice.reason, measured=asdict(measured), measured_at=timezone.now()
    )
    if is_auto and choice.mode != current:
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
    """Measure a batch of authors whose policy is `auto`, least recently measured first; return their number.

    While the policy of the site is `auto`, authors with many followers and no policy of their own become `auto`, too.
    """
    if SitePolicy.objects.filter(pk=1, policy=Policy.AUTO).exists():
        large = User.objects.filter(counts__followers__gte=settings.AUTO_PULL_FOLLOWERS)
        with_policy = AuthorPolicy.objects.exclude(policy=Policy.SITE).values("author")
        for author in large.exclude(pk__in=with_policy)[:AUTHORS_BATCH_SIZE]:
            switch.set_author_policy(
                author,
                Policy.AUTO,
                by=Policy.AUTO,
                reason=_("The site's policy is automatic."),
            )
    longest_ago = F("measured_at").asc(nulls_first=True)
    automatic = AuthorPolicy.objects.filter(policy=Policy.AUTO).order_by(longest_ago)
    authors = list(automatic.values_list("pk", flat=True)[:AUTHORS_BATCH_SIZE])
    for author_id in authors:
        measure_author(author_id)
    return len(authors)


def as_text(measured: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in measured.items())
