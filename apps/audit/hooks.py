"""Hooks through which optional apps add to explanations and to the auditor's comparisons."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.safestring import SafeString

from apps.accounts.models import User
from apps.audit.models import Subject
from apps.events.hooks import Hook

Compared = tuple[int, set[int]]  # the number of cached values, and the keys of those that differ


class Section(NamedTuple):
    """A part of the page that explains one post."""

    title: str
    html: SafeString


@dataclass(frozen=True, slots=True)
class AuditedCache:
    """A cache that the auditor compares with the tables.

    `compare` takes ids of posts or accounts; `forget` takes one of them and drops its value, which differs.
    """

    name: str
    subject: Subject
    compare: Callable[[Collection[int]], Compared]
    forget: Callable[[int], object]


SECTIONS = Hook[Callable[[User, int], Section | None]]()  # about a post, for a viewer
# a short note about each of some posts on a viewer's home page, by id
NOTES = Hook[Callable[[User], Mapping[int, str]]]()
CACHES = Hook[AuditedCache]()
