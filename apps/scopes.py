"""What a bearer token may do: the scopes of the API, and the one that each endpoint asks for.

The names, and what each covers, are Mastodon's: its clients ask for what they know. An endpoint says what it needs with
`@scopes`; one that says nothing takes no token at all.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])

_READ = (
    "accounts", "blocks", "bookmarks", "favourites", "filters", "follows", "lists", "mutes", "notifications", "search",
    "statuses",
)  # fmt: skip
_WRITE = (
    "accounts", "blocks", "bookmarks", "conversations", "favourites", "filters", "follows", "lists", "media", "mutes",
    "notifications", "reports", "statuses",
)  # fmt: skip

# A wide scope and the narrower ones that it covers.
COVERED = {
    "read": frozenset(f"read:{what}" for what in _READ),
    "write": frozenset(f"write:{what}" for what in _WRITE),
    "follow": frozenset(
        f"{how}:{what}" for how in ("read", "write") for what in ("blocks", "follows", "mutes")
    ),
    "push": frozenset[str](),
    "profile": frozenset[str](),  # only who the account is
}
NAMES = frozenset(COVERED).union(*COVERED.values())
ALL = " ".join(COVERED)  # what a personal token may do unless its owner says less
ANY_TOKEN: tuple[str, ...] = ()  # for endpoints that take every token, whatever it may do


def covered_by(granted: Iterable[str]) -> frozenset[str]:
    """Scopes with all that they cover; names that are not known cover themselves."""
    names = frozenset(granted)
    return names.union(*(COVERED.get(name, ()) for name in names))


def scopes(**needed: str | tuple[str, ...]) -> Callable[[View], View]:
    """Say for each method of an endpoint which scope a token needs; of several, one is enough.

    It stands above `api_view`. ValueError for a scope that does not exist.
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
    """The scopes of which one is needed for a method of an endpoint; None where none is declared."""
    table: dict[str, tuple[str, ...]] = getattr(view, "needed_scopes", {})
    return table.get("GET" if method == "HEAD" else method)
