"""Heuristics against spam: plug-ins that the setting SPAM_HEURISTICS names by their dotted paths.

A heuristic gets a batch of posts and returns the values of its reason for each post to which it applies. The score of a
post is the sum of the points of the heuristics that apply. docs/spam.md shows how to write one.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import Error, register
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ID_MAX_CHARACTERS = 40
BATCH = 100  # the maximum number of posts that a heuristic gets at once
NEW = timedelta(days=7)  # an account is new for this long

Values = Mapping[str, Any]  # the numbers and short texts in a reason; stored as JSON


@dataclass(frozen=True, slots=True)
class Candidate:
    """A public or quiet public post that is examined, and what is known of its author.

    `mentioned` are the ids of the accounts that it mentions, and `links` the addresses in it, at most
    `queries.MAX_LINKS`.
    """

    id: int
    author_id: int
    body: str
    created_at: datetime
    joined_at: datetime
    reply_to_id: int | None
    mentioned: Sequence[int]
    links: Sequence[str]

    @property
    def account_age(self) -> timedelta:
        """How long the author had been a member when the post was published."""
        return self.created_at - self.joined_at

    @property
    def is_by_newcomer(self) -> bool:
        return self.account_age < NEW


@dataclass(frozen=True, slots=True)
class Heuristic:
    """A plug-in. `find` gets at most `BATCH` posts, and must need the same number of queries for any number of them.

    `question` is shown to staff, who can switch the heuristic off. `reason` is a sentence with the values that `find`
    returns, such as "%(number)d of its links are blocked."
    """

    id: str
    question: "StrOrPromise"
    points: int
    reason: "StrOrPromise"
    find: Callable[[Sequence[Candidate]], Mapping[int, Values]]


@dataclass(frozen=True, slots=True)
class Finding:
    """The score of a post, and the values of the reason of each heuristic that applied, by the heuristic's id."""

    score: int
    reasons: Mapping[str, Values]


def available() -> dict[str, Heuristic]:
    """The heuristics of this site by their ids, in the order of the setting."""
    return {one.id: one for path in settings.SPAM_HEURISTICS for one in _named(path)}


def _named(path: str) -> list[Any]:
    """What a path of the setting names: a heuristic, or several in a list or tuple."""
    found = import_string(path)
    return list(found) if isinstance(found, list | tuple) else [found]


def judge(heuristics: Collection[Heuristic], posts: Sequence[Candidate]) -> dict[int, Finding]:
    """The finding about each post to which a heuristic applies, by post id. Takes at most `BATCH` posts."""
    scores: dict[int, int] = {}
    reasons: dict[int, dict[str, Values]] = {}
    for heuristic in heuristics:
        for post_id, values in heuristic.find(posts).items():
            scores[post_id] = scores.get(post_id, 0) + heuristic.points
            reasons.setdefault(post_id, {})[heuristic.id] = values
    return {post_id: Finding(score, reasons[post_id]) for post_id, score in scores.items()}


def sentences(reasons: Mapping[str, Values]) -> list[str]:
    """The reasons in the current language. For a heuristic that the site no longer has, only its id."""
    known = available()
    return [
        str(known[id_].reason % values) if id_ in known else id_ for id_, values in reasons.items()
    ]


def domain_of(address: str) -> str:
    """The host of an address, in lower case and in punycode; empty if the address has no valid host."""
    try:
        host = urlsplit(address).hostname or ""
        return host.rstrip(".").encode("idna").decode().lower()
    except ValueError:  # UnicodeError is one, too
        return ""


@register
def check_setting(**_options: object) -> list[Error]:
    """Check SPAM_HEURISTICS at startup, because a wrong path would otherwise fail at every post."""
    ids: list[str] = []
    problem = ""
    for path in settings.SPAM_HEURISTICS:
        try:
            found = _named(path)
        except ImportError as error:
            problem = f"{path}: {error}"
            continue
        for one in found:
            if not isinstance(one, Heuristic):
                problem = f"{path} is not a heuristic"
            elif one.id in ids or not 0 < len(one.id) <= ID_MAX_CHARACTERS:
                problem = f"the id {one.id!r} is listed twice, empty, or too long"
            else:
                ids.append(one.id)
    return [Error(f"SPAM_HEURISTICS: {problem}.", id="spam.E001")] if problem else []
