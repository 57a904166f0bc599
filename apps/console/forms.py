"""Forms with which staff change the caches. `question` asks for confirmation, and `act` makes the change."""

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.console.actions import move_slot
from apps.console.queries import place_code, slot_maps
from apps.operations import actions, resizing
from apps.operations.actions import Author
from apps.operations.models import BurstPolicy, TopologyVersion
from apps.operations.queries import SETTINGS, place_name, topology_in_force
from feedcache.servers.slots import SLOTS
from feedcache.topology import (
    CLASSES,
    L1_SHARES,
    MAX_MEGABYTES,
    MAX_URL_CHARACTERS,
    TENANTS,
    Place,
    Pool,
    Topology,
    is_address,
    megabytes,
)

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

Choices = list[tuple[str, str]]


def place_of(code: str) -> Place:
    pool, group, slot = code.split("-")
    return Place(Pool(pool), int(slot), int(group))


def place_choices(topology: Topology) -> Choices:
    return [
        (place_code(place), f"{place_name(place)}: {node.url}") for place, node in topology.places()
    ]


def urls_in(text: str) -> list[str]:
    return re.findall(r"[^\s,]+", text)


class ChangeForm(forms.Form):
    """A form that changes the cache topology. `seen` is the version on the page; `act` fails if it is outdated."""

    title: ClassVar[Any] = ""
    seen = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(
        self, topology: Topology, data: Any = None, *, initial: Mapping[str, Any] | None = None
    ) -> None:
        values = {**self.initial_values(topology), **(initial or {}), "seen": topology.version}
        super().__init__(data, initial=values)
        for name, choices in self.field_choices(topology).items():
            field: Any = self.fields[name]
            field.choices = choices

    def initial_values(self, topology: Topology) -> dict[str, Any]:
        return {}

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        return {}

    @abstractmethod
    def question(self) -> str:
        """The question on the confirmation page."""

    @abstractmethod
    def act(self, by: Author) -> TopologyVersion:
        """Make the change. Raises DomainError."""

    def author(self, name: str) -> Author:
        return Author(name, seen=self.cleaned_data["seen"])


def _addresses(help_text: "StrPromise") -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Addresses"),
        help_text=help_text,
        max_length=MAX_URL_CHARACTERS * 8,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
    )


def _megabytes(help_text: "StrPromise") -> forms.IntegerField:
    return forms.IntegerField(
        label=gettext_lazy("Megabytes of each node"),
        help_text=help_text,
        min_value=1,
        max_value=MAX_MEGABYTES,
    )


class AddL1Form(ChangeForm):
    title = gettext_lazy("Add an L1 group")
    addresses = _addresses(
        gettext_lazy(
            "host:port or unix:/path, one for each slot of the group, separated by spaces or commas."
        )
    )
    megabytes = _megabytes(
        gettext_lazy(
            "The same number as in Memcached's option -m. A group should be a tenth to a sixth as large as Main."
        )
    )

    def initial_values(self, topology: Topology) -> dict[str, Any]:
        """Propose an eighth of Main's memory, which suits a group of one node."""
        return {"megabytes": max(megabytes(topology.main) // (sum(L1_SHARES) // 2), 1)}

    def question(self) -> str:
        return _("Add an L1 group of %(urls)s, %(megabytes)d MB each?") % {
            "urls": ", ".join(self._urls()), "megabytes": self.cleaned_data["megabytes"]
        }  # fmt: skip

    def act(self, by: Author) -> TopologyVersion:
        return actions.add_l1_group(self._urls(), self.cleaned_data["megabytes"], by=by)

    def _urls(self) -> list[str]:
        return urls_in(self.cleaned_data["addresses"])


class ReplaceForm(ChangeForm):
    title = gettext_lazy("Replace a node")
    place = forms.ChoiceField(label=gettext_lazy("Slot"))
    address = forms.CharField(
        label=gettext_lazy("Address of the new node"),
        help_text=gettext_lazy(
            "host:port or unix:/path. Enter the same address again to empty the node and put it back into use."
        ),
        max_length=MAX_URL_CHARACTERS,
    )
    megabytes = forms.IntegerField(
        label=gettext_lazy("Megabytes"),
        help_text=gettext_lazy("Leave empty for the size of the old node."),
        min_value=1,
        max_value=MAX_MEGABYTES,
        required=False,
    )

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        return {"place": place_choices(topology)}

    def question(self) -> str:
        place = place_name(place_of(self.cleaned_data["place"]))
        return _("Put %(url)s into %(place)s?") % {"url": self.cleaned_data["address"], "place": place}  # fmt: skip

    def act(self, by: Author) -> TopologyVersion:
        data = self.cleaned_data
        return actions.replace_node(
            place_of(data["place"]), data["address"], data["megabytes"], by=by
        )


class DrainForm(ChangeForm):
    title = gettext_lazy("Drain a node or an L1 group")
    target = forms.ChoiceField(
        label=gettext_lazy("What"),
        help_text=gettext_lazy(
            "An L1 group is removed. If you drain a slot, its requests go to the next layer until its node is replaced."
        ),
    )

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        groups = [
            (f"group-{number}", _("L1 group %(group)s as a whole") % {"group": number})
            for number in range(len(topology.l1))
        ]
        return {"target": [*groups, *place_choices(topology)]}

    def question(self) -> str:
        group, place = self._target()
        if place is None:
            return _("Remove L1 group %(group)s?") % {"group": group}
        return _("Stop reading %(place)s?") % {"place": place_name(place)}

    def act(self, by: Author) -> TopologyVersion:
        group, place = self._target()
        if place is None:
            return actions.drain_l1_group(group, by=by)
        return actions.drain_node(place, by=by)

    def _target(self) -> tuple[int, Place | None]:
        kind, _dash, rest = self.cleaned_data["target"].partition("-")
        return (int(rest), None) if kind == "group" else (0, place_of(self.cleaned_data["target"]))


POOLS = [(Pool.MAIN.value, "Main"), (Pool.BACKUP.value, "Backup")]


class GrowForm(ChangeForm):
    title = gettext_lazy("Add slots to Main or Backup")
    pool = forms.ChoiceField(label=gettext_lazy("Pool"), choices=POOLS)
    addresses = _addresses(
        gettext_lazy(
            "host:port or unix:/path, one for each new slot, separated by spaces or commas. The steps are automatic "
            "and take at least half a minute; pages stay correct in the meantime."
        )
    )
    megabytes = _megabytes(gettext_lazy("The same number as in Memcached's option -m."))

    def initial_values(self, topology: Topology) -> dict[str, Any]:
        return {"megabytes": resizing.usual_megabytes(topology, Pool.MAIN)}

    def question(self) -> str:
        return _("Add slots for %(urls)s to %(pool)s, %(megabytes)d MB each?") % {
            "urls": ", ".join(self._urls()),
            "pool": dict(POOLS)[self.cleaned_data["pool"]],
            "megabytes": self.cleaned_data["megabytes"],
        }

    def act(self, by: Author) -> TopologyVersion:
        data = self.cleaned_data
        return resizing.grow(Pool(data["pool"]), self._urls(), data["megabytes"], by=by)

    def _urls(self) -> list[str]:
        return urls_in(self.cleaned_data["addresses"])


class ShrinkForm(ChangeForm):
    title = gettext_lazy("Remove a slot from Main or Backup")
    place = forms.ChoiceField(
        label=gettext_lazy("Slot"),
        help_text=gettext_lazy(
            "Its keys move to the other slots of the pool, step by step. Then the node can be stopped."
        ),
    )

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        places = [
            (place_code(place), f"{place_name(place)}: {node.url}")
            for place, node in topology.places()
            if place.pool is not Pool.L1
        ]
        return {"place": places}

    def question(self) -> str:
        place = place_name(place_of(self.cleaned_data["place"]))
        return _("Remove %(place)s, and move its keys to the other slots?") % {"place": place}

    def act(self, by: Author) -> TopologyVersion:
        place = place_of(self.cleaned_data["place"])
        return resizing.shrink(place.pool, {place.slot}, by=by)


class AbortForm(ChangeForm):
    title = gettext_lazy("Cancel a change of slots")
    pool = forms.ChoiceField(label=gettext_lazy("Pool"))

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        return {"pool": [(pool, name) for pool, name in POOLS if pool in topology.resizes]}

    def question(self) -> str:
        return _("Leave the slots of %(pool)s as they were?") % {
            "pool": dict(POOLS)[self.cleaned_data["pool"]]
        }

    def act(self, by: Author) -> TopologyVersion:
        return resizing.abort(Pool(self.cleaned_data["pool"]), by=by)


class FlushForm(ChangeForm):
    title = gettext_lazy("Flush one class")
    name = forms.ChoiceField(
        label=gettext_lazy("Class"),
        help_text=gettext_lazy("Only this class is affected: it is read from PostgreSQL until it fills again."),
    )  # fmt: skip

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        return {"name": [(name, name) for name in CLASSES]}

    def question(self) -> str:
        return _(
            "Flush the class “%(name)s”? Until the class has filled again, the database gets more requests."
        ) % {"name": self.cleaned_data["name"]}

    def act(self, by: Author) -> TopologyVersion:
        return actions.flush_class(self.cleaned_data["name"], by=by)


class MoveForm(ChangeForm):
    title = gettext_lazy("Move data to another Redis")
    name = forms.ChoiceField(label=gettext_lazy("Data"))
    address = forms.CharField(
        label=gettext_lazy("Address of the new server"),
        help_text=gettext_lazy(
            "redis://host:port/db, unix:///path?db=1 or redis+cluster://host:port,host:port; the login is taken from "
            "the settings. “settings” means the address in the settings. At first, data is written to both servers."
        ),
        max_length=MAX_URL_CHARACTERS,
    )

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        return {"name": [(n, n) for n in TENANTS if not topology.tenant(n).is_moving]}

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"]
        return "" if address == SETTINGS else address

    def question(self) -> str:
        return _("Write “%(name)s” to %(address)s, too?") % {
            **self.cleaned_data, "address": self.cleaned_data["address"] or SETTINGS
        }  # fmt: skip

    def act(self, by: Author) -> TopologyVersion:
        return actions.join_server(self.cleaned_data["name"], self.cleaned_data["address"], by=by)


class SwitchForm(ChangeForm):
    title = gettext_lazy("Read from the other server")
    name = forms.ChoiceField(label=gettext_lazy("Data"))

    def field_choices(self, topology: Topology) -> dict[str, Choices]:
        return {"name": [(n, n) for n in TENANTS if topology.tenant(n).is_moving]}

    def question(self) -> str:
        return _("Read “%(name)s” from the other server? It fills as it is read.") % self.cleaned_data  # fmt: skip

    def act(self, by: Author) -> TopologyVersion:
        return actions.switch_server(self.cleaned_data["name"], by=by)


class LeaveForm(SwitchForm):
    title = gettext_lazy("Stop writing to the server that is not read")

    def question(self) -> str:
        return _("Stop writing “%(name)s” to the server that is not read?") % self.cleaned_data

    def act(self, by: Author) -> TopologyVersion:
        return actions.leave_server(self.cleaned_data["name"], by=by)


class MoveSlotForm(forms.Form):
    title = gettext_lazy("Move a slot")
    name = forms.ChoiceField(label=gettext_lazy("Data"))
    slot = forms.IntegerField(label=gettext_lazy("Slot"), min_value=0, max_value=SLOTS - 1)
    target = forms.ChoiceField(label=gettext_lazy("New owner"))

    def __init__(self, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        maps = slot_maps()
        names: Any = self.fields["name"]
        names.choices = [(name, name) for one in maps for name in one.classes]
        targets: Any = self.fields["target"]
        targets.choices = [(node.address, node.address) for one in maps for node in one.masters]

    def question(self) -> str:
        return _("Move slot %(slot)d of “%(name)s” to %(target)s?") % self.cleaned_data

    def act(self) -> str:
        """Move as many keys as possible in a few seconds; returns a sentence with their number. Raises Invalid."""
        moved = move_slot(*(self.cleaned_data[name] for name in ("name", "slot", "target")))
        text = ngettext(
            "Slot %(slot)d: %(moved)d key went to %(target)s.",
            "Slot %(slot)d: %(moved)d keys went to %(target)s.",
            moved,
        )
        return text % {**self.cleaned_data, "moved": moved}


class BurstPolicyForm(forms.ModelForm):
    """The rules for bursts. They are saved without a confirmation, because they change no node."""

    title = gettext_lazy("Rules for bursts")

    class Meta:
        model = BurstPolicy
        fields = (
            "is_automatic",
            "spares",
            "megabytes",
            "most_reads",
            "most_groups",
            "calm_minutes",
        )
        widgets: ClassVar = {"spares": forms.Textarea(attrs={"rows": 4, "cols": 60})}

    def clean_spares(self) -> str:
        """One address per line, without duplicates.

        Raises ValidationError if an address is malformed, or belongs to a node of Main or Backup.
        """
        urls = list(dict.fromkeys(urls_in(self.cleaned_data["spares"])))
        if wrong := [url for url in urls if not is_address(url)]:
            message = _("“%(url)s” is not an address: give host:port or unix:/path.")
            raise forms.ValidationError(message % {"url": wrong[0]})
        topology = topology_in_force()
        base = {node.url for node in (*topology.main, *topology.backup)}
        if used := [url for url in urls if url in base]:
            raise forms.ValidationError(_("%(url)s is in use already.") % {"url": used[0]})
        return "\n".join(urls)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if (
            data.get("is_automatic")
            and not data.get("spares", "").strip()
            and "spares" not in self.errors
        ):
            self.add_error("spares", _("Without a spare node there is nothing to add."))
        return data

    def question(self) -> str:
        return ""

    def summary(self) -> str:
        """The main rules on one line, for the admin's history."""
        state = "automatic" if self.instance.is_automatic else "by hand"
        bounds = (
            f"from {self.instance.most_reads} reads a second, to {self.instance.most_groups} groups"
        )
        return f"bursts {state}: {bounds}"


FORMS: dict[str, type[ChangeForm]] = {
    "add-l1": AddL1Form,
    "replace": ReplaceForm,
    "drain": DrainForm,
    "grow": GrowForm,
    "shrink": ShrinkForm,
    "flush": FlushForm,
}
WITHOUT_BUTTON: dict[str, type[ChangeForm]] = {"abort": AbortForm}  # linked only during a resize
REDIS_FORMS: dict[str, type[ChangeForm]] = {
    "move": MoveForm,
    "switch": SwitchForm,
    "leave": LeaveForm,
}
