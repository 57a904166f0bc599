"""Shares and states as staff read them."""

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from feedcache.topology import State

register = template.Library()


@register.filter
def percent(share: float | None) -> str:
    """93.4 %; nothing for nothing."""
    return "" if share is None else f"{number_format(share * 100, 1)} %"


@register.filter
def state_name(state: State) -> str:
    """What is done with a node that is not read."""
    return {State.JOINING: _("joining"), State.DRAINING: _("draining")}.get(state, _("active"))
