"""OAuth scopes: the rights of bearer tokens, and the rights that each endpoint needs.

The names and their coverage are Mastodon's. `apps.api.decorators.endpoint` declares an endpoint's scopes;
`apps.api.authentication` checks them.
"""

from collections.abc import Iterable
from typing import Any

_BOTH = ["accounts", "blocks", "bookmarks", "favourites", "filters", "follows", "lists", "mutes"]
_READ = [*_BOTH, "notifications", "search", "statuses"]
_WRITE = [*_BOTH, "conversations", "media", "notifications", "reports", "statuses"]

# A wide scope and the narrower ones that it covers.
COVERED = {
    "read": frozenset(f"read:{name}" for name in _READ),
    "write": frozenset(f"write:{name}" for name in _WRITE),
    "follow": frozenset(
        f"{access}:{name}"
        for access in ("read", "write")
        for name in ("blocks", "follows", "mutes")
    ),
    "push": frozenset[str](),  # clients ask for it whether or not there is web push
    "profile": frozenset[str](),  # only the account's identity
}
NAMES = set(COVERED).union(*COVERED.values())
# The scopes shown to people and programs; optional apps add theirs.
OFFERED = NAMES - {"push"}
# Scopes that only staff can be granted; `apps.admin_api` adds its scopes here and to the sets above.
STAFF = set[str]()
ALL = " ".join(COVERED)  # the default scopes of a token
ANY_TOKEN: tuple[str, ...] = ()  # for endpoints that accept every token


def grantable(names: Iterable[str], user: Any) -> list[str]:
    """The scopes in `names` that can be granted to `user`. None stands for an application that acts for no user."""
    is_staff = user is not None and user.is_staff
    return [name for name in names if name in NAMES and (is_staff or name not in STAFF)]


def covered_by(granted: Iterable[str]) -> frozenset[str]:
    """The granted scopes, and all that they cover; an unknown name covers only itself."""
    names = frozenset(granted)
    return names.union(*(COVERED.get(name, ()) for name in names))


def needed_scopes(view: object, method: str) -> tuple[str, ...] | None:
    """The scopes for a method of an endpoint: a token needs one of them, or none for `ANY_TOKEN`. None if the endpoint
    declares nothing for the method; then no token is accepted.
    """
    table: dict[str, tuple[str, ...]] = getattr(view, "needed_scopes", {})
    return table.get("GET" if method == "HEAD" else method)
