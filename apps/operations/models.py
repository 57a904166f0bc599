"""Every version of the cache topology, the nodes of the current version, the rules for bursts, and the cache epochs.

The current topology is `after` in the newest version. CacheNode repeats its nodes, so that staff can list them and the
database can refuse duplicates; `actions.commit` writes both in one transaction.
"""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from feedcache.topology import (
    L1_GROUPS,
    MAX_MEGABYTES,
    MAX_NAME_CHARACTERS,
    MAX_NODES,
    MAX_URL_CHARACTERS,
    Node,
    Place,
    Pool,
    State,
    Topology,
)

ACTOR_MAX_CHARACTERS = 60
DETAIL_MAX_CHARACTERS = 300


class Action(models.TextChoices):
    ADD_L1 = "add_l1", _("L1 group added")
    REPLACE = "replace", _("node replaced")
    DRAIN = "drain", _("drained")
    FLUSH = "flush", _("class flushed")
    ROLLBACK = "rollback", _("rolled back")
    MOVE = "move", _("moved")
    RESIZE = "resize", _("slots changed")


class Reason(models.TextChoices):
    """The reason why an epoch began and everything cached before is ignored."""

    INSTALLED = "installed", _("first start")
    NODES = "nodes", _("other Memcached nodes in the settings")
    WENT_BACK = "back", _("the database went back to an earlier state")
    OTHER_SERVER = "server", _("another database server, or a failover")
    ASKED = "asked", _("by hand, after a restore")


class CacheEpoch(models.Model):
    """A period in which cached values are valid; the newest row is the current one (`apps.operations.epoch`).

    `beats` grows every few seconds. In a restored database, it is lower than the highest count in Redis.
    """

    value = models.BigIntegerField(unique=True)  # 0 for the first epoch, then random
    reason = models.CharField(_("why"), max_length=9, choices=Reason.choices)
    began_at = models.DateTimeField(_("when"), default=timezone.now)
    # A hash of the Memcached nodes in the settings.
    nodes = models.CharField(max_length=64, blank=True)
    # PostgreSQL's system identifier, and its timeline, which changes with a failover.
    system = models.CharField(max_length=20)
    timeline = models.PositiveIntegerField()
    # The OID of this table, which changes with a restore from a dump; 0 if not known yet.
    table = models.PositiveBigIntegerField(default=0)
    beats = models.BigIntegerField(default=0)

    class Meta:
        verbose_name, verbose_name_plural = _("cache epoch"), _("cache epochs")

    def __str__(self) -> str:
        return f"{self.value:x}: {self.reason}"


class TopologyVersion(models.Model):
    """One change: its author, and the topology before and after it. Rows are never updated."""

    version = models.PositiveIntegerField(_("version"), primary_key=True)
    action = models.CharField(_("what"), max_length=8, choices=Action.choices)
    detail = models.CharField(_("detail"), max_length=DETAIL_MAX_CHARACTERS)
    made_by = models.CharField(_("by"), max_length=ACTOR_MAX_CHARACTERS)
    made_at = models.DateTimeField(_("when"), default=timezone.now)
    before = models.TextField(_("before"))
    after = models.TextField(_("after"))

    class Meta:
        verbose_name, verbose_name_plural = _("cache change"), _("cache changes")
        ordering = ("-version",)

    def __str__(self) -> str:
        return f"{self.version}: {self.detail}"

    def topology(self) -> Topology:
        return Topology.from_json(self.after)


class BurstPolicy(models.Model):
    """The changes that staff allow when a key is read very often (source 000). If no row exists, the defaults apply."""

    is_automatic = models.BooleanField(_("add and remove L1 groups automatically"), default=False)
    spares = models.TextField(
        _("spare nodes"),
        blank=True,
        help_text=_("Addresses of running, unused Memcached nodes, one per line. Each may become an L1 group."),
    )  # fmt: skip
    megabytes = models.PositiveIntegerField(
        _("megabytes of each"),
        default=16,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_MEGABYTES)],
    )
    most_reads = models.PositiveIntegerField(
        _("maximum reads per second"),
        default=5000,
        validators=[MinValueValidator(1)],
        help_text=_("Reads of one key at one node. A higher rate needs one more L1 group."),
    )
    most_groups = models.PositiveSmallIntegerField(
        _("maximum number of L1 groups"),
        default=L1_GROUPS[1],
        validators=[MinValueValidator(1), MaxValueValidator(MAX_NODES)],
        help_text=_("Includes those in the settings. No more than this are added automatically."),
    )
    calm_minutes = models.PositiveSmallIntegerField(
        _("minutes before removal"),
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(10)],
        help_text=_("A group is removed when it has not been needed for this many minutes (up to 10)."),
    )  # fmt: skip

    class Meta:
        verbose_name = verbose_name_plural = _("rules for bursts")

    def __str__(self) -> str:
        return str(_("rules for bursts"))


class CacheNode(models.Model):
    pool = models.CharField(_("pool"), max_length=6, choices=[(p.value, p.value) for p in Pool])
    group = models.PositiveSmallIntegerField(_("group"), default=0)
    slot = models.PositiveSmallIntegerField(_("slot"))
    name = models.CharField(_("name"), max_length=MAX_NAME_CHARACTERS, unique=True)
    url = models.CharField(_("address"), max_length=MAX_URL_CHARACTERS, unique=True)
    megabytes = models.PositiveIntegerField(_("megabytes"))
    generation = models.PositiveIntegerField(_("generation"))
    state = models.CharField(_("state"), max_length=8, choices=[(s.value, s.value) for s in State])

    class Meta:
        verbose_name, verbose_name_plural = _("cache node"), _("cache nodes")
        constraints = [models.UniqueConstraint("pool", "group", "slot", name="cache_node_place_once")]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.name} ({self.url})"

    @classmethod
    def at(cls, place: Place, node: Node) -> "CacheNode":
        return cls(
            pool=place.pool.value, group=place.group, slot=place.slot, name=node.name, url=node.url,
            megabytes=node.megabytes, generation=node.generation, state=node.state.value,
        )  # fmt: skip
