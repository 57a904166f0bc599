"""Shows the history of an account on staff pages."""

from typing import Any

from django import template
from django.template import Context

from apps.accounts.authentication.sessions import sessions_of
from apps.accounts.models import User
from apps.moderation.records import record_of

register = template.Library()


@register.inclusion_tag("admin/moderation/_record.html", takes_context=True)
def account_record(context: Context, user: User, without: int = 0) -> dict[str, Any]:
    """The staff actions on an account, its sessions, and, with permission to see them, reports on it and its posts."""
    staff: User = context["request"].user
    return {
        "account": user,
        "record": record_of(user, without=without),
        "sessions": sessions_of(user, current_key=None),
        "sees_reports": staff.has_perm("moderation.view_report"),
        "sees_posts": staff.has_perm("posts.view_post"),
    }
