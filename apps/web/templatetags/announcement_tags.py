"""The announcements that the viewer has not read yet."""

from typing import Any

from django import template
from django.template import Context

from apps.announcements.queries import announcements_for

register = template.Library()


@register.inclusion_tag("announcements/_list.html", takes_context=True)
def announcements(context: Context) -> dict[str, Any]:
    names = ("viewer", "csrf_token", "request")
    shown = announcements_for(context["viewer"])
    return {"announcements": shown, **{name: context[name] for name in names if name in context}}
