"""The machine-readable formats of a page."""

from django import template

from apps.web.hooks import OTHER_FORMS, OtherForm

register = template.Library()


@register.simple_tag
def other_forms() -> list[OtherForm]:
    """The formats of every page of public posts: each is at the address of the page plus a suffix."""
    return list(OTHER_FORMS)
