"""OAuth scopes: what a bearer token may do, and what each endpoint needs.

The names, and what each covers, are Mastodon's. An endpoint declares its scopes with `@scopes`; without it, it accepts no
token at all.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])

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
    "push": frozenset[str](),
    "profile": frozenset[str](),  # only the account's identity
}
NAMES = frozenset(COVERED).union(*COVERED.values())
ALL = " ".join(COVERED)  # a personal token's, unless its owner chooses fewer
ANY_TOKEN: tuple[str, ...] = ()  # for endpoints that accept every token


def covered_by(granted: Iterable[str]) -> frozenset[str]:
    """Scopes with all that they cover; unknown names cover themselves."""
    names = frozenset(granted)
    return names.union(*(COVERED.get(name, ()) for name in names))


def scopes(**needed: str | tuple[str, ...]) -> Callable[[View], View]:
    """Declare for each method of an endpoint which scope a token needs; of several, one suffices.

    Goes above `api_view`. ValueError for an unknown scope.
    """
    table = {
        method: (names,) if isinstance(names, str) else names for method, names in needed.items()
    }
    unknown = {name for names in table.values() for name in names} - NAMES
    if unknown:
        raise ValueError(f"no such scope: {', '.join(sorted(unknown))}")

    def declare(view: View) -> View:
        view.cls.needed_scopes = table  # type: ignore[attr-defined]  # the class that api_view makes
        return view

    return declare


def needed_scopes(view: object, method: str) -> tuple[str, ...] | None:
    """The scopes of which a method of an endpoint needs one; None where none is declared."""
    table: dict[str, tuple[str, ...]] = getattr(view, "needed_scopes", {})
    return table.get("GET" if method == "HEAD" else method)
