"""Functions for the staff pages of several apps. The staff pages of posts are in `apps.timeline.admin.posts`."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from apps.accounts.admin import account_ids
from apps.events.admin import StaffList
from feedcache.ids import parse_id


def search_by_post_or_account(
    queryset: QuerySet[Any], search_term: str, *, account: str
) -> QuerySet[Any]:
    """Filter rows by the id of their `post`, or by the handle of the account that the lookup `account` selects."""
    term = search_term.strip()
    if not term:
        return queryset
    try:
        return queryset.filter(post=parse_id(term))
    except ValueError:
        return queryset.filter(**{f"{account}__in": account_ids(term)})


def post_link(post_id: int | None) -> SafeString | str:
    """A link to the staff page of a post."""
    if post_id is None:
        return "-"
    address = reverse("admin:posts_post_change", args=[post_id])
    return format_html('<a href="{}">{}</a>', address, str(post_id))


def delete_after_confirmation(
    page: StaffList, request: HttpRequest, posts: Sequence[Any], delete: Callable[[int], object]
) -> TemplateResponse | None:
    """Delete posts by their ids, for an action of a list of posts; first the page that asks for confirmation."""
    question = ngettext(
        "Delete %(count)d post? Its text cannot be restored.",
        "Delete %(count)d posts? Their texts cannot be restored.",
        len(posts),
    ) % {"count": len(posts)}
    if posts and (confirmation := page.confirmation(request, posts, question=question)):
        return confirmation
    done = page.attempt(request, posts, lambda post: delete(post.pk))
    text = ngettext("%(count)d post deleted.", "%(count)d posts deleted.", done)
    page.message_user(request, text % {"count": done})
    return None
