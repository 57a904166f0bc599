"""Template tag for the devices on the notification settings page."""

from typing import Any

from django import template
from django.template import Context

from apps.push.encryption import public_key
from apps.push.queries import name_of, subscriptions_of

register = template.Library()


@register.simple_tag(takes_context=True)
def push_settings(context: Context) -> dict[str, Any]:
    """The viewer's devices and clients, and the endpoint of this session's device."""
    viewer, session_key = context["viewer"], context["request"].session.session_key
    rows = list(subscriptions_of(viewer))
    here = [
        row for row in rows if row.login_id is not None and row.login.session_key == session_key
    ]
    return {
        "key": public_key(),
        "devices": [(row, name_of(row), row in here) for row in rows],
        "endpoint": here[0].endpoint if here else "",
    }
