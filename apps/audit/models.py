"""The auditor's runs and their findings, with descriptions in plain words for staff."""

from collections.abc import Iterable, Mapping

from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.queries import handles_of
from apps.sql import database_time
from feedcache.ids import author_of


class Kind(models.TextChoices):
    MISSING = "missing", gettext_lazy("left out of a page")
    EXTRA = "extra", gettext_lazy("shown to somebody it is not for")
    REPEATED = "repeated", gettext_lazy("twice on a page")
    ORDER = "order", gettext_lazy("in the wrong order")
    WINDOW = "window", gettext_lazy("missing from a window")
    UNDELIVERED = "undelivered", gettext_lazy("never handed over for delivery")
    STUCK = "stuck", gettext_lazy("delivery has stopped")
    DEAD = "dead", gettext_lazy("delivery given up")
    CHUNK = "chunk", gettext_lazy("part of a delivery is gone")
    RECEIPT = "receipt", gettext_lazy("changed receipt")
    LOST = "lost", gettext_lazy("delivery given up for good")
    MIRROR = "mirror", gettext_lazy("incomplete follow")
    COUNT = "count", gettext_lazy("wrong count")
    CACHED = "cached", gettext_lazy("wrong cached value")


class Subject(models.TextChoices):
    """The subjects that are compared in rounds, each from the first row to the last and then from the first again."""

    WINDOWS = "windows", gettext_lazy("home windows")
    DELIVERIES = "deliveries", gettext_lazy("deliveries")
    RECEIPTS = "receipts", gettext_lazy("receipts")
    FOLLOWING = "following", gettext_lazy("follows, by follower")
    FOLLOWERS = "followers", gettext_lazy("follows, by followee")
    POST_COUNTS = "post counts", gettext_lazy("post counts")
    USER_COUNTS = "user counts", gettext_lazy("account counts")
    POSTS = "posts", gettext_lazy("cached posts")
    ACCOUNTS = "accounts", gettext_lazy("cached accounts and their lists of posts")


# The fields of an `AuditRun` that reports add up.
FIGURES = (
    "pages",
    "windows",
    "deliveries",
    "receipts",
    "follows",
    "counts",
    "cached",
    "late",
    "settled",
    "violations",
    "repaired",
)


class AuditRun(models.Model):
    """The numbers of things compared and of violations in a run of the auditor, or in a reconciliation of counts."""

    started_at = models.DateTimeField(gettext_lazy("at"), default=database_time)
    seconds = models.FloatField(gettext_lazy("seconds"), default=0)
    pages = models.PositiveIntegerField(gettext_lazy("pages"), default=0)
    windows = models.PositiveIntegerField(gettext_lazy("windows"), default=0)
    deliveries = models.PositiveIntegerField(gettext_lazy("deliveries"), default=0)
    receipts = models.PositiveIntegerField(gettext_lazy("receipts"), default=0)
    follows = models.PositiveIntegerField(gettext_lazy("follows"), default=0)
    counts = models.PositiveIntegerField(gettext_lazy("counts"), default=0)
    cached = models.PositiveIntegerField(gettext_lazy("cached values"), default=0)
    late = models.PositiveIntegerField(gettext_lazy("still on the way"), default=0)
    settled = models.PositiveIntegerField(gettext_lazy("correct when checked again"), default=0)
    violations = models.PositiveIntegerField(gettext_lazy("violations"), default=0)
    repaired = models.PositiveIntegerField(gettext_lazy("repaired"), default=0)

    class Meta:
        verbose_name, verbose_name_plural = gettext_lazy("audit run"), gettext_lazy("audit runs")
        indexes = [models.Index(fields=["-started_at"], name="audit_run_time")]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M:%S}"


class AuditRound(models.Model):
    """The progress of a subject in its current round (`apps.audit.rounds`), and its last complete round."""

    subject = models.CharField(max_length=16, primary_key=True, choices=Subject.choices)
    after = models.BigIntegerField(default=0)  # the last id that was compared; 0 between rounds
    compared = models.BigIntegerField(default=0)  # rows compared in this round
    began_at = models.DateTimeField(default=database_time)
    ended_at = models.DateTimeField(null=True)  # end of the last complete round, if there is one
    seconds = models.FloatField(
        null=True
    )  # of the last complete round, since the end of the round before
    total = models.BigIntegerField(null=True)  # rows compared in the last complete round

    def __str__(self) -> str:
        return f"{self.subject} after {self.after}"


class AuditDay(models.Model):
    """The runs of one day (UTC): their number, the sums of their figures, the speed of deliveries; kept for 90 days."""

    day = models.DateField(gettext_lazy("day"), primary_key=True)
    figures = models.JSONField(gettext_lazy("figures"), default=dict)

    class Meta:
        verbose_name, verbose_name_plural = gettext_lazy("audit day"), gettext_lazy("audit days")

    def __str__(self) -> str:
        return f"{self.day}"


class AuditFinding(models.Model):
    """A violation. It stores the ids of the account and the post instead of foreign keys, so that it outlives both.

    A violation that cannot be repaired stays a single row, which counts how often it was found.
    """

    run = models.ForeignKey(AuditRun, models.CASCADE, related_name="findings")
    kind = models.CharField(gettext_lazy("what"), max_length=12, choices=Kind.choices)
    viewer_id = models.BigIntegerField(gettext_lazy("account"), null=True)
    post_id = models.BigIntegerField(gettext_lazy("post"), null=True)
    details = models.JSONField(gettext_lazy("details"), default=dict)
    found_at = models.DateTimeField(gettext_lazy("found at"), default=database_time)
    repaired_at = models.DateTimeField(gettext_lazy("repaired at"), null=True)
    times = models.PositiveIntegerField(gettext_lazy("times"), default=1)
    last_found_at = models.DateTimeField(gettext_lazy("last found at"), default=database_time)

    class Meta:
        verbose_name, verbose_name_plural = (
            gettext_lazy("audit finding"),
            gettext_lazy("audit findings"),
        )
        indexes = [models.Index(fields=["kind", "post_id"], name="audit_finding_about")]

    def __str__(self) -> str:
        return f"{self.kind} {self.viewer_id or '-'} {self.post_id or '-'}"

    @cached_property
    def handles(self) -> dict[int, str]:
        """The handles of the accounts in the finding. Lists of findings load them for all rows and assign them."""
        return handles_of(accounts_of([self]))


def finding_text(finding: AuditFinding, names: Mapping[int, str]) -> str:
    """The violation as a sentence; `names` are the handles of its accounts (`accounts_of`)."""

    def name(user_id: int | None) -> str:
        handle = names.get(user_id or 0)
        return f"@{handle}" if handle else _("somebody whose account is gone")

    author = author_of(finding.post_id) if finding.post_id else None
    details = finding.details
    about = {
        **details,
        "who": name(finding.viewer_id),
        "post": _("%(post)s by %(author)s") % {"post": finding.post_id, "author": name(author)},
        "follower": name(details.get("follower")),
        "followee": name(details.get("followee")),
    }
    if finding.kind == Kind.COUNT:
        about["which"] = about["who"] if finding.viewer_id else about["post"]
    texts = {
        Kind.MISSING: _(
            "A home page of %(who)s left out post %(post)s, which was delivered and belongs there."
        ),
        Kind.EXTRA: _("A home page of %(who)s showed post %(post)s, which did not belong there."),
        Kind.REPEATED: _("A home page of %(who)s showed post %(post)s twice."),
        Kind.ORDER: _("On a home page of %(who)s, post %(post)s was in the wrong place."),
        Kind.WINDOW: _("The home cache or inbox of %(who)s lacked post %(post)s."),
        Kind.UNDELIVERED: _("Post %(post)s was published, but its delivery never began."),
        Kind.STUCK: _("Part of the delivery of post %(post)s was due, but no worker processed it."),
        Kind.DEAD: _("Part of the delivery of post %(post)s was given up after five tries."),
        Kind.MIRROR: _(
            "The follow from %(follower)s to %(followee)s was in only one of the two lists."
        ),
        Kind.COUNT: _(
            "%(number)s counts of %(counts)s in %(where)s were wrong. For %(which)s, for example, the count was "
            "%(has)s instead of %(should)s."
        ),
        Kind.CHUNK: _(
            "The delivery of post %(post)s had %(parts)s parts, of which only %(present)s were left."
        ),
        Kind.RECEIPT: _(
            "A receipt of the delivery of post %(post)s was changed or removed after it was written."
        ),
        Kind.LOST: _("The delivery of post %(post)s to %(lost)s followers was given up for good."),
        Kind.CACHED: _cached_texts().get(details.get("cache"), "%(cache)s"),
    }
    try:
        return texts[Kind(finding.kind)] % about
    except KeyError:
        return str(finding)  # written by an older version of the site


def _cached_texts() -> dict[str | None, str]:
    """The text for each name in `apps.audit.comparison.cached.caches`."""
    return {
        "post": _("The cached text of post %(post)s differed from the database."),
        "card": _("The cached profile of %(who)s differed from the database."),
        "outbox": _("The cached list of the posts of %(who)s differed from the database."),
        "week": _("Cached posts of %(who)s from the last two weeks differed from the database."),
        "second level": _("The stored home page of %(who)s lacked posts that the database has."),
        "ranked": _(
            "The ranked home page of %(who)s had scores that do not match the reasons given for them."
        ),
    }


def accounts_of(findings: Iterable[AuditFinding]) -> set[int]:
    """The ids of all accounts that findings are about."""
    found = set[int | None]()
    for finding in findings:
        found |= {
            finding.viewer_id,
            finding.details.get("follower"),
            finding.details.get("followee"),
        }
        found.add(author_of(finding.post_id) if finding.post_id else None)
    return {user_id for user_id in found if user_id}


def run_text(run: AuditRun) -> str:
    """The figures of a run as one line."""
    return _(
        "%(pages)d pages, %(windows)d windows, %(deliveries)d deliveries, %(receipts)d receipts, %(follows)d follows, "
        "%(counts)d counts and %(cached)d cached values compared: %(violations)d violations, %(repaired)d repaired; "
        "%(late)d still on the way, %(settled)d correct when checked again."
    ) % {name: getattr(run, name) for name in FIGURES}
