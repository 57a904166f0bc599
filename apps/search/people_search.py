"""People by name and handle, and people one may want to follow."""

import re
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _

from apps.accounts.models import HANDLE_PATTERN, User, UserCounts
from apps.accounts.queries import users_by_id
from apps.errors import NotFound
from apps.graph.queries import exact_relations, suggestions
from apps.search.models import Dismissal
from apps.search.query import TEXT_MAX_CHARACTERS
from apps.search.words import query

MAX_CANDIDATES = 200  # looked at; what is asked for lies within
MAX_DISMISSED = 200  # of one account; then the oldest are forgotten
_HANDLE = re.compile(HANDLE_PATTERN.replace("{3,30}", "{1,30}"), re.ASCII)

# By the beginning of the handle, by the words of the name, and by a handle that is nearly the same (trigrams).
_PEOPLE = """
SELECT u.id
FROM (
    (SELECT id FROM accounts_user WHERE handle LIKE %(begins)s AND %(is_handle)s ORDER BY handle LIMIT %(maximum)s)
    UNION
    (SELECT user_id FROM search_personentry WHERE words @@ %(query)s::tsquery LIMIT %(maximum)s)
    UNION
    (SELECT id FROM accounts_user WHERE handle %% %(handle)s AND %(is_handle)s LIMIT %(maximum)s)
) found
JOIN accounts_user u ON u.id = found.id AND u.suspended_at IS NULL
JOIN accounts_usercounts c ON c.user_id = u.id
LEFT JOIN graph_followee f ON f.owner_id = %(viewer)s AND f.followee_id = u.id
WHERE f.id IS NOT NULL OR NOT %(only_followed)s
ORDER BY u.handle = %(handle)s DESC, u.handle LIKE %(begins)s DESC, f.id IS NOT NULL DESC, c.followers DESC, u.id
LIMIT %(maximum)s
"""


def people_found(
    viewer: User | None, text: str, *, limit: int, offset: int = 0, only_followed: bool = False
) -> list[User]:
    """Accounts by a part of the name or the beginning of the handle: the one of exactly this handle first.

    Nobody finds who blocks them; whom they block they find by the whole handle only, to unblock.
    Suspended accounts are found by nobody.
    """
    asked = _bare(text[:TEXT_MAX_CHARACTERS])
    words, viewer_id = query([asked]), viewer.pk if viewer else None
    if not words or (only_followed and viewer is None):
        return []
    handle = asked.lower() if _HANDLE.fullmatch(asked.lower()) else ""
    values: dict[str, Any] = {
        "begins": handle.replace("_", r"\_") + "%",
        "handle": handle,
        "is_handle": bool(handle),
        "query": words,
        "viewer": viewer_id,
        "only_followed": only_followed,
        "maximum": MAX_CANDIDATES,
    }
    with connection.cursor() as sql:
        sql.execute(_PEOPLE, values)
        ids = [row[0] for row in sql.fetchall()]
    related = exact_relations(viewer_id, ids)
    # the one of exactly this handle comes first, if there is one
    hidden = related.blocked_by | (related.blocking - set(_with_handle(handle, ids[:1])))
    wanted = [one for one in ids if one not in hidden][offset : offset + limit]
    users = users_by_id(wanted)
    return [users[one] for one in wanted if one in users]


def _with_handle(handle: str, ids: list[int]) -> list[int]:
    return [pk for pk, user in users_by_id(ids).items() if user.handle == handle]


def _bare(text: str) -> str:
    """What is asked for: without the @ and the site's own name, and of an address of a profile only the handle."""
    asked = text.strip().removeprefix(f"{settings.SITE_URL}/").removeprefix("@")
    host = settings.SITE_URL.split("://", 1)[-1]
    return asked.removesuffix(f"@{host}").removesuffix(f"@{host.split(':')[0]}").strip()


def suggested(viewer: User, *, limit: int) -> list[User]:
    """Accounts that a viewer may want to follow: the most followed ones, without those that were waved away."""
    gone = set(Dismissal.objects.filter(owner=viewer).values_list("other_id", flat=True))
    found = suggestions(viewer, limit=limit + len(gone))
    return [user for user in found if user.pk not in gone][:limit]


def popular(*, limit: int) -> list[User]:
    """The most followed accounts that may be suggested, for visitors: the first rows of an index."""
    rows = UserCounts.objects.filter(followers__gt=0, user__suspended_at=None)
    found = rows.filter(user__is_discoverable=True).order_by("-followers", "user")
    ids = list(found.values_list("user", flat=True)[:limit])
    users = users_by_id(ids)
    return [users[one] for one in ids if one in users]


def dismiss(viewer: User, other_id: int) -> None:
    """Do not suggest somebody again; twice is once. NotFound for an account that is not there."""
    if not users_by_id([other_id]):
        raise NotFound(_("There is no such account."))
    Dismissal.objects.get_or_create(owner=viewer, other_id=other_id)
    kept = Dismissal.objects.filter(owner=viewer).order_by("-pk")[:MAX_DISMISSED]
    Dismissal.objects.filter(owner=viewer).exclude(
        pk__in=list(kept.values_list("pk", flat=True))
    ).delete()
