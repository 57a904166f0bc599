"""Template filters for the cache console."""

from math import floor

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from apps.console.queries import place_code
from apps.console.series import Chart, Measure
from apps.operations.objectives import AVAILABILITY, DELIVERY, HOME, Objective, Result
from feedcache.topology import Phase, State

register = template.Library()
register.filter(place_code)


@register.filter
def percent(share: float | None) -> str:
    """Format a share as “93.4 %”; empty for None."""
    return "" if share is None else f"{number_format(share * 100, 1)} %"


@register.filter
def availability(share: float | None) -> str:
    """Format a share as “99.987 %”, never rounded up; empty for None."""
    return "" if share is None else f"{number_format(floor(share * 100_000) / 1000, 3)} %"


@register.filter
def objective_name(objective: Objective) -> str:
    """Describe an objective in a phrase, with the seconds from the settings."""
    texts = {
        AVAILABILITY: _("Requests answered without a server error"),
        HOME: _("Home pages within %(seconds)s s"),
        DELIVERY: _("Deliveries within %(seconds)s s"),
    }
    return texts[objective.name] % {"seconds": number_format(objective.seconds or 0)}


@register.filter
def slowest_of_most(result: Result) -> str:
    """The time within which the required share of events ended: “0.25 s” or “over 60 s”; a dash if none was timed."""
    if not result.bounds or not result.events:
        return "–"
    if result.within is None:
        return _("over %(seconds)s s") % {"seconds": number_format(result.bounds[-1][0])}
    return _("%(seconds)s s") % {"seconds": number_format(result.within)}


@register.filter
def interface_name(name: str) -> str:
    """The name of a class of pages and endpoints that have the same limits (`apps.http.interfaces`)."""
    names = {"core": _("core reads"), "writes": _("writes"), "rest": _("the rest")}
    return names.get(name, name)


@register.filter
def state_name(state: State) -> str:
    return _("draining") if state is State.DRAINING else _("active")


@register.filter
def phase_text(phase: Phase) -> str:
    """Describe a step of a resize."""
    texts = {
        Phase.JOINING: _("The new slots are empty and not read yet. Changed entries are removed from them, too."),
        Phase.MOVING: _("Reads try the new slots first, then the old ones; writes go to both."),
        Phase.LEAVING: _("Only the new slots are read. Changed entries are removed from the old slots, too."),
    }  # fmt: skip
    return texts[phase]


@register.filter
def measured(measure: Measure, value: float | None) -> str:
    """A value of a measure with its unit; empty for None."""
    if value is None:
        return ""
    return f"{number_format(value, measure.decimals)} {measure.unit}".rstrip()


@register.filter
def value(chart: Chart, number: float | None) -> str:
    return measured(chart.measure, number)


@register.filter
def lowest(chart: Chart) -> str:
    return measured(chart.measure, min(chart.known))


@register.filter
def highest(chart: Chart) -> str:
    return measured(chart.measure, max(chart.known))
