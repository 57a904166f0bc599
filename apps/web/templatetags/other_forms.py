"""The forms of a page for other programs."""

from django import template

from apps.web.hooks import OTHER_FORMS, OtherForm

register = template.Library()


@register.simple_tag
def other_forms() -> list[OtherForm]:
    """Those of every page of public posts: each is at its address with a suffix."""
    return list(OTHER_FORMS)
