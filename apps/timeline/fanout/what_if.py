"""What another policy, more followers or the loss of Redis would cost, before it happens.

How much work there is, is counted as the code does it (a test holds the counts against a real delivery); how long each
piece takes, was measured (`unit_costs`). `last_delivery` says how far off that was the last time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil

from django.conf import settings
from django.db.models import Avg, Max, Min, Sum
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.events.leases import State
from apps.graph.models import Follower
from apps.posts.models import PostCounts
from apps.timeline import policy as policies
from apps.timeline.fanout import cost, ledger, split, unit_costs
from apps.timeline.fanout.author_receipts import duration
from apps.timeline.fanout.cost import MeasuredCost
from apps.timeline.models import AuthorPolicy, FanoutJob, Mode, Policy, SitePolicy
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import RedisError
from feedcache.ids import first_id_at
from feedcache.structures.home_window import PUSH_BATCH, READERS_PER_BITMAP

PROCESSES = 2  # of workers, and of the web
SAMPLE = 1000  # deliveries of the site, and readers, from which averages are taken
JOBS = 20  # the newest, among which the last finished delivery is looked for


@dataclass(frozen=True, slots=True)
class Audience:
    """Whose posts, as measured; `followees` is how many pulled authors a page reads when these are pulled.

    `bitmaps` is over how many bitmaps of who is away the followers are spread. `first_pull`: nobody else is pulled.
    """

    measured: MeasuredCost
    mode: Mode
    bitmaps: int = 1
    followees: float = 1.0
    first_pull: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """One post on its way to the followers: what it takes more than a post that is pulled.

    Commands of Redis include those in scripts; seconds are processor time, but for the delay until the last follower
    has it. Bytes are those of the copies: in Redis, of which a full home cache drops as many, and in PostgreSQL.
    """

    copies: int = 0
    chunks: int = 0
    rows_written: int = 0
    messages: int = 0  # to the broker
    redis_reads: int = 0
    redis_writes: int = 0
    redis_seconds: float = 0.0
    worker_seconds: float = 0.0
    delay_seconds: float = 0.0
    redis_bytes: int = 0
    disk_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Forecast:
    """A policy for an audience: a post, a page of a follower, and a day. `reason` is that of `auto`."""

    mode: Mode
    reason: str
    measured: MeasuredCost
    delivery: Delivery
    page_outboxes: float  # read for a page on top: a row of PostgreSQL and a key of Memcached each
    page_seconds: float

    @property
    def push_seconds_a_day(self) -> float:
        each = self.delivery.redis_seconds + self.delivery.worker_seconds
        return self.measured.posts_a_day * each

    @property
    def pull_seconds_a_day(self) -> float:
        return self.measured.reads_a_day * self.page_seconds


@dataclass(frozen=True, slots=True)
class LastDelivery:
    """The last real delivery: seconds until its last receipt, and what is foretold for it."""

    post_id: int
    foretold: float
    measured: float

    @property
    def error(self) -> float:
        return self.foretold / self.measured - 1


@dataclass(frozen=True, slots=True)
class Rebuilds:
    """All home caches of a Redis are gone; seconds until all of these readers have theirs again."""

    readers: int
    followees: float  # of one of them, on average
    rows_read: int
    memcached_reads: int
    web_seconds: float
    redis_seconds: float
    wait_seconds: float  # of each reader, once
    all_seconds: float  # if all come at once
    redis_bytes: int


def audience_of(author: User) -> Audience:
    """An author's followers, as they are now."""
    row = AuthorPolicy.objects.filter(pk=author.pk).first()
    mode = Mode(row.mode) if row and row.mode else _site_mode()
    newest = Follower.objects.filter(owner=author).order_by("-pk")[: settings.FANOUT_CHUNK_SIZE]
    numbers = newest.aggregate(low=Min("follower_id"), high=Max("follower_id"))
    low, high = numbers["low"] or 0, numbers["high"] or 0
    bitmaps = high // READERS_PER_BITMAP - low // READERS_PER_BITMAP + 1
    force = policies.refresh()
    is_first = not force.pulls_all and not force.pulled - {author.pk}
    return Audience(cost.measure(author.pk), mode, bitmaps, first_pull=is_first)


def audience_of_site() -> Audience:
    """The average author of the newest posts, with the posts and reads of all of them."""
    now = timezone.now()
    week = first_id_at(int(now.timestamp()) - cost.DAYS * 24 * 3600)
    jobs = list(FanoutJob.objects.filter(pk__gte=week).order_by("-pk")[:SAMPLE])
    days = float(cost.DAYS)
    if len(jobs) == SAMPLE:
        days = max((now - jobs[-1].created_at).total_seconds(), 1.0) / (24 * 3600)
    ids = [job.pk for job in jobs]
    reads = PostCounts.objects.filter(pk__in=ids).aggregate(reads=Sum("reads"))["reads"]
    followers = round(sum(job.followers for job in jobs) / len(jobs)) if jobs else 0
    measured = MeasuredCost(followers, cost.online_share(), len(jobs) / days, (reads or 0) / days)
    try:
        _number, followees = _readers()
    except RedisError:
        followees = _mean_followees([])
    newest = User.objects.aggregate(newest=Max("pk"))["newest"] or 0
    return Audience(
        measured, _site_mode(), newest // READERS_PER_BITMAP + 1, followees, first_pull=True
    )


def with_followers(audience: Audience, followers: int) -> Audience:
    """The same with another number of followers, of whom the same share is online and reads."""
    now = audience.measured
    factor = followers / now.followers if now.followers else 1.0
    measured = replace(now, followers=followers, reads_a_day=now.reads_a_day * factor)
    bitmaps = max(audience.bitmaps, ceil(followers / READERS_PER_BITMAP))
    return replace(audience, measured=measured, bitmaps=bitmaps)


def forecast(audience: Audience, policy: str, *, processes: int = PROCESSES) -> Forecast:
    """A policy for an audience: `auto` means what it would choose, `SITE` what the site has now."""
    reason, measured = "", audience.measured
    if policy == Policy.SITE:
        policy = _site_mode()
    elif policy == Policy.AUTO:
        choice = cost.choose(measured, audience.mode)
        policy, reason = choice.mode, choice.reason
    mode = Mode(policy)
    is_pull, followers = mode == Mode.PULL, measured.followers
    online = round(followers * measured.online)
    done = delivery(mode, followers, online, bitmaps=audience.bitmaps, processes=processes)
    first = unit_costs.FIRST_PULL_MICROSECONDS * audience.first_pull
    seconds = (first + audience.followees * unit_costs.PULL_MICROSECONDS) / 1e6
    outboxes = audience.followees * is_pull
    return Forecast(mode, reason, measured, done, outboxes, seconds * is_pull)


def delivery(
    mode: Mode, followers: int, online: int, *, bitmaps: int = 1, processes: int = PROCESSES
) -> Delivery:
    """The delivery of a post to so many followers, of whom so many have a home cache."""
    if mode == Mode.PULL or not followers:
        return Delivery()
    size = settings.FANOUT_CHUNK_SIZE
    share, chunks = online / followers, ceil(followers / size)
    full, rest = divmod(followers, size)
    reads = writes = 0
    for number, readers in ((full, size), (1 if rest else 0, rest)):
        in_chunk = _commands(readers, round(readers * share), bitmaps)
        reads, writes = reads + number * in_chunk[0], writes + number * in_chunk[1]
    # a chunk and its receipt, which its job counts; of a longer list also claims, and the job at each step
    rows, messages = 3 * chunks, 0
    if followers > size:
        messages = chunks + 1
        rows += chunks + 2 + ceil(chunks / split.CHUNKS_PER_BATCH)
    second_level = followers if mode == Mode.PUSH and settings.TIMELINE_SECOND_LEVEL else 0
    parts = (
        (unit_costs.AWAY, followers),
        (unit_costs.ONLINE, online),
        (unit_costs.ROW, second_level),
    )
    redis, process, clock = (
        sum(getattr(unit, name) * number for unit, number in parts) / 1e6
        for name in ("redis", "process", "clock")
    )
    # Redis works on one command at a time, for all workers
    delay = unit_costs.POST_CLOCK / 1e6 + max(redis, clock / min(processes, chunks))
    return Delivery(
        copies=online,
        chunks=chunks,
        rows_written=rows + second_level,
        messages=messages,
        redis_reads=reads,
        redis_writes=writes,
        redis_seconds=redis,
        worker_seconds=process,
        delay_seconds=delay,
        redis_bytes=round(online * unit_costs.ENTRY_BYTES),
        disk_bytes=second_level * unit_costs.ROW_BYTES,
    )


def _commands(readers: int, online: int, bitmaps: int) -> tuple[int, int]:
    """Commands of Redis for a chunk, reads and writes: `dispatch` and `feedcache.structures.home_window` count them."""
    away = readers - online
    if readers <= PUSH_BATCH:  # one script looks for each of them
        scripts, looks, marks, bits = 1, readers, away, 0
    else:
        scripts, looks, marks = max(1, ceil(online / PUSH_BATCH)), online, 0
        bits = round(bitmaps * (1 - (1 - 1 / bitmaps) ** readers))
    # version of the policies; tombstones; windows and those being built; whether anybody has a rank timeline
    reads = 1 + bits + scripts + 2 * looks + bool(online)
    return reads, online + marks  # one more for a window that is full


def last_delivery(author: User | None = None, *, processes: int = PROCESSES) -> LastDelivery | None:
    """The last finished delivery of a post to followers, of the author or of anybody; None without one."""
    jobs = FanoutJob.objects.exclude(mode=Mode.PULL).filter(state=State.DONE, parts__gt=0)
    if author is not None:
        jobs = jobs.filter(post__author=author)
    newest = jobs.prefetch_related("post").order_by("-pk")[:JOBS]
    for job in ledger.with_receipts(newest):
        progress = ledger.delivery_progress(job)
        if progress.pending or progress.lost or job.last_receipt is None:
            continue
        followers, online = progress.expected, progress.delivered
        bitmaps = max(1, ceil(followers / READERS_PER_BITMAP))
        foretold = delivery(Mode(job.mode), followers, online, bitmaps=bitmaps, processes=processes)
        taken = (job.last_receipt - job.post.created_at).total_seconds()
        return LastDelivery(job.pk, foretold.delay_seconds, max(taken, 0.001))
    return None


def lose_redis(
    *, readers: int | None = None, servers: int = 1, processes: int = PROCESSES
) -> Rebuilds:
    """One of so many servers of home caches is lost; readers are those with a home cache, or as many as are named.

    Raises RedisError.
    """
    found, followees = _readers(count_all=readers is None)
    number = ceil((found if readers is None else readers) / servers)
    base, each = unit_costs.REBUILD, unit_costs.FOLLOWEE
    redis, process, clock = (
        (getattr(base, name) + followees * getattr(each, name)) / 1e6
        for name in ("redis", "process", "clock")
    )
    vectors = round(number * (followees + 1))  # one's own outbox too
    return Rebuilds(
        readers=number,
        followees=followees,
        rows_read=vectors,
        memcached_reads=vectors,
        web_seconds=number * process,
        redis_seconds=number * redis,
        wait_seconds=clock,
        all_seconds=number * clock / processes,
        redis_bytes=round(number * HOME.length * unit_costs.ENTRY_BYTES),
    )


def _readers(*, count_all: bool = False) -> tuple[int, float]:
    """Readers with a home cache, all or a sample of them, and how many a reader follows on average."""
    windows = HOME.of(policies.refresh().generation)
    number, sample, cursor = 0, list[int](), 0
    while True:
        cursor, owners = windows.scan_owners(cursor, SAMPLE)
        number += len(owners)
        sample += owners[: SAMPLE - len(sample)]
        if not cursor or (len(sample) >= SAMPLE and not count_all):
            break
    return number, _mean_followees(sample)


def _mean_followees(readers: list[int]) -> float:
    """Of these readers; of the newest accounts that follow anybody when there are none."""
    counts = UserCounts.objects.filter(pk__in=readers)
    if not readers:
        counts = UserCounts.objects.filter(following__gt=0).order_by("-pk")[:SAMPLE]
    return float(counts.aggregate(mean=Avg("following"))["mean"] or 0)


def _site_mode() -> Mode:
    row = SitePolicy.objects.filter(pk=1).first() or SitePolicy()
    return Mode(row.mode)


def table(forecasts: Iterable[Forecast]) -> list[tuple[str, list[str]]]:
    """A row for each figure, a column for each forecast, in words of the language in force."""
    columns = [_column(one) for one in forecasts]
    return [(label, [column[label] for column in columns]) for label in columns[0]]


def _column(one: Forecast) -> dict[str, str]:
    sent = one.delivery
    return {
        _("how a post reaches home pages"): str(Mode(one.mode).label),
        _("followers, and how many are online"): _("%(followers)s, %(online)s %% online")
        % {"followers": _exact(one.measured.followers), "online": round(one.measured.online * 100)},
        _("home caches written per post"): _exact(sent.copies),
        _("commands of Redis per post"): _("%(reads)s reads, %(writes)s writes")
        % {"reads": _exact(sent.redis_reads), "writes": _exact(sent.redis_writes)},
        _("rows of PostgreSQL written per post"): _exact(sent.rows_written),
        _("time of Redis per post"): _seconds(sent.redis_seconds),
        _("time of workers per post"): _seconds(sent.worker_seconds),
        _("the last follower has it after"): _("at once, when the page is read")
        if one.mode == Mode.PULL
        else _seconds(sent.delay_seconds),
        _("memory of a post's copies"): _("%(redis)s in Redis, %(disk)s in PostgreSQL")
        % {"redis": filesizeformat(sent.redis_bytes), "disk": filesizeformat(sent.disk_bytes)},
        _("outboxes read for each page, on top"): _("%(number)s in %(time)s")
        % {"number": _exact(round(one.page_outboxes)), "time": _seconds(one.page_seconds)}
        if one.page_outboxes
        else _("none"),
        _("processor time a day"): _("%(push)s for pushing, %(pull)s for pulling")
        % {"push": _seconds(one.push_seconds_a_day), "pull": _seconds(one.pull_seconds_a_day)},
    }


def rebuilds_table(lost: Rebuilds) -> list[tuple[str, list[str]]]:
    return [
        (_("home caches to rebuild"), [_exact(lost.readers)]),
        (_("followees of a reader, on average"), [_exact(round(lost.followees))]),
        (_("a reader waits, once"), [_seconds(lost.wait_seconds)]),
        (_("until all have theirs, if all come at once"), [duration(lost.all_seconds)]),
        (_("processor time of the web"), [_seconds(lost.web_seconds)]),
        (_("time of Redis"), [_seconds(lost.redis_seconds)]),
        (_("rows of PostgreSQL read"), [_exact(lost.rows_read)]),
        (_("keys of Memcached read"), [_exact(lost.memcached_reads)]),
        (_("memory of Redis that fills again, at most"), [filesizeformat(lost.redis_bytes)]),
    ]


def error_text(last: LastDelivery | None) -> str:
    """How far off the same arithmetic was for the last delivery."""
    if last is None:
        return _("There is no delivery to compare with yet.")
    return _("For the last delivery it says %(foretold)s; it took %(measured)s (%(error)s %%).") % {
        "foretold": _seconds(last.foretold),
        "measured": _seconds(last.measured),
        "error": f"{round(last.error * 100):+d}",
    }


def _seconds(seconds: float) -> str:
    if not seconds:
        return "0"
    if seconds < 0.001:
        return _("%(number)s µs") % {"number": number_format(seconds * 1e6, 0)}
    if seconds < 1:
        return _("%(number)s ms") % {"number": number_format(seconds * 1e3, 1)}
    return duration(seconds)


def _exact(number: int) -> str:
    return str(number_format(number, use_l10n=True, force_grouping=True))
