"""Queries for accounts and reports, with the filters of both versions of Mastodon's account list."""

from collections.abc import Collection, Iterable, Mapping

from django.db.models import Q, QuerySet
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.addresses import is_own_host
from apps.api.params import optional_bool
from apps.engagement.queries import poll_results
from apps.errors import BadRequest, Invalid, NotFound
from apps.moderation.models import Report
from apps.posts.cache import load_contents
from apps.posts.models import OPEN, Counts
from apps.posts.queries import post_counts
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import parse_id

Query = MultiValueDict[str, str]
_NOBODY = Q(pk__in=())
_STAFF = Q(is_staff=True)
STATES = {
    "active": Q(is_active=True, suspended_at=None),
    "disabled": Q(is_active=False, suspended_at=None),
    "suspended": Q(suspended_at__isnull=False),
    "silenced": Q(limited_at__isnull=False),
    # Mastodon's states that no account of this site can have
    "pending": _NOBODY,
    "sensitized": _NOBODY,
}
ORIGINS = {"local": Q(), "remote": _NOBODY}
PERMISSIONS = {"staff": _STAFF}
OWNER, STAFF, MEMBER = "1", "2", "0"  # ids of roles
ROLES = {
    OWNER: Q(is_superuser=True),
    STAFF: Q(is_staff=True, is_superuser=False),
    MEMBER: Q(is_staff=False, is_superuser=False),
}


def accounts_v1(query: Query) -> QuerySet[User]:
    """Accounts that match the parameters of /api/v1: one parameter for each state. Raises BadRequest or Invalid."""
    named = {**ORIGINS, **STATES, **PERMISSIONS}
    chosen = [condition for name, condition in named.items() if optional_bool(query, name)]
    return _accounts(query, chosen)


def accounts_v2(query: Query) -> QuerySet[User]:
    """Accounts that match the parameters of /api/v2. Raises BadRequest or Invalid."""
    if query.get("invited_by"):
        raise Invalid(_("There are no invitations on this site."), code="no_invitations")
    chosen = [
        _one_of(query, "origin", ORIGINS),
        _one_of(query, "status", STATES),
        _one_of(query, "permissions", PERMISSIONS),
    ]
    if role_ids := query.getlist("role_ids[]") or query.getlist("role_ids"):
        roles = [ROLES.get(role_id, _NOBODY) for role_id in role_ids]
        chosen.append(_any_of(roles))
    return _accounts(query, chosen)


def _accounts(query: Query, chosen: Iterable[Q]) -> QuerySet[User]:
    """The matching accounts. Handles, names and e-mail addresses match by prefix, as in Mastodon."""
    if query.get("ip"):
        raise Invalid(
            _("This site does not store the IP addresses of its members."), code="no_addresses"
        )
    rows = User.objects.filter(*chosen).select_related("counts")
    if username := query.get("username"):
        rows = rows.filter(handle__startswith=username.removeprefix("@").lower())
    if display_name := query.get("display_name"):
        rows = rows.filter(display_name__istartswith=display_name)
    if email := query.get("email"):
        rows = rows.filter(email__startswith=email.lower())
    if is_elsewhere(query.get("by_domain")):
        rows = rows.none()
    return rows


def is_elsewhere(domain: str | None) -> bool:
    """Whether a domain is given and is not this site's. Other sites have no accounts here."""
    return bool(domain) and not is_own_host(domain or "")


def _one_of(query: Mapping[str, str], name: str, choices: Mapping[str, Q]) -> Q:
    value = query.get(name)
    if value and value not in choices:
        raise BadRequest(f"{name} is one of: {', '.join(choices)}.", code="bad_parameter")
    return choices[value] if value else Q()


def _any_of(conditions: Iterable[Q]) -> Q:
    found = _NOBODY
    for condition in conditions:
        found |= condition
    return found


def account_by_id(user_id: int) -> User:
    """An account in any state, with its counts. Raises NotFound."""
    user = User.objects.filter(pk=user_id).select_related("counts").first()
    if user is None:
        raise NotFound(_("There is no such account."))
    return user


def reports(query: Query, staff: User) -> QuerySet[Report]:
    """Reports that match the parameters (by default open ones), without those about `staff`. Raises BadRequest."""
    is_resolved = bool(optional_bool(query, "resolved"))
    rows = all_reports(staff).filter(resolved_at__isnull=not is_resolved)
    if account_id := _id_in(query, "account_id"):
        rows = rows.filter(reporter=account_id)
    if target_id := _id_in(query, "target_account_id"):
        rows = rows.filter(target=target_id)
    return rows.none() if is_elsewhere(query.get("by_target_domain")) else rows


def _id_in(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    try:
        return parse_id(text) if text else None
    except ValueError:
        raise BadRequest(f"{name} is not an id.", code="bad_parameter") from None


def all_reports(staff: User) -> QuerySet[Report]:
    """Reports with the rows that their JSON needs, without those about `staff`, who must not see who filed them."""
    people = ("target", "reporter", "assignee", "resolved_by")
    counts = [f"{person}__counts" for person in people]
    return Report.objects.exclude(target=staff).select_related(*counts).prefetch_related("posts")


def report_by_id(report_id: int, staff: User) -> Report:
    """A report by its id. Raises NotFound if there is none, or if it is about `staff`."""
    report = all_reports(staff).filter(pk=report_id).first()
    if report is None:
        raise NotFound(_("There is no such report."))
    return report


def reported_items(
    found: Collection[Report], staff: User, *, restricted: bool = False
) -> dict[int, list[FeedItem]]:
    """The reported posts by the id of their report, including hidden ones. Deleted posts are left out, and so are
    restricted ones unless `restricted` is set.
    """
    ids = {row.post_id for report in found for row in report.posts.all()}
    contents = {
        post.id: post
        for post in (load_contents(sorted(ids)).values() if ids else ())
        if restricted or post.visibility in OPEN
    }
    counts = post_counts(list(contents))
    polls = poll_results(staff.pk, [pk for pk, post in contents.items() if post.poll])
    return {
        report.pk: [
            FeedItem(
                contents[row.post_id],
                report.target,
                counts.get(row.post_id, Counts()),
                poll=polls.get(row.post_id),
            )
            for row in report.posts.all()
            if row.post_id in contents
        ]
        for report in found
    }
