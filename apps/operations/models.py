"""Every topology there ever was, and the nodes of the one in use.

A version's `after` is the truth. The rows of nodes repeat the newest one so that staff can list, and the database can
refuse, nodes; both are written in one transaction, by one function.
"""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from feedcache.topology import (
    MAX_NAME_CHARACTERS,
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
    """What was done."""

    ADD_L1 = "add_l1", _("L1 group added")
    REPLACE = "replace", _("node replaced")
    DRAIN = "drain", _("drained")
    FLUSH = "flush", _("class flushed")
    ROLLBACK = "rollback", _("rolled back")


class TopologyVersion(models.Model):
    """One change: who did what, and the topology before and after. Never written again."""

    version = models.PositiveIntegerField(_("version"), primary_key=True)
    action = models.CharField(_("what"), max_length=8, choices=Action.choices)
    detail = models.CharField(_("detail"), max_length=DETAIL_MAX_CHARACTERS)
    made_by = models.CharField(_("by"), max_length=ACTOR_MAX_CHARACTERS)
    made_at = models.DateTimeField(_("when"), default=timezone.now)
    before = models.TextField(_("before"))
    after = models.TextField(_("after"))

    class Meta:
        verbose_name, verbose_name_plural = _("change of the caches"), _("changes of the caches")
        ordering = ("-version",)

    def __str__(self) -> str:
        return f"{self.version}: {self.detail}"

    def topology(self) -> Topology:
        """The topology this change led to."""
        return Topology.from_json(self.after)


class CacheNode(models.Model):
    """A Memcached of the topology in use."""

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
        """The row of a node at a place."""
        return cls(
            pool=place.pool.value, group=place.group, slot=place.slot, name=node.name, url=node.url,
            megabytes=node.megabytes, generation=node.generation, state=node.state.value,
        )  # fmt: skip

    def place(self) -> Place:
        """Where it stands."""
        return Place(Pool(self.pool), self.slot, self.group)
