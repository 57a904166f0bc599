"""Hooks that let optional apps extend explanations and the auditor's comparisons."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.safestring import SafeString

from apps.accounts.models import User
from apps.audit.models import Subject
from apps.events.hooks import Hook

Compared = tuple[int, set[int]]  # the number of compared values, and the keys of those that differ


class Section(NamedTuple):
    """A section of the page that explains a post."""

    title: str
    html: SafeString


@dataclass(frozen=True, slots=True)
class AuditedCache:
    """A cache that the auditor compares with the tables.

    `compare` takes ids of posts or accounts; `forget` drops what is cached for one of these ids.
    """

    name: str
    subject: Subject
    compare: Callable[[Collection[int]], Compared]
    forget: Callable[[int], object]


SECTIONS = Hook[Callable[[User, int], Section | None]]()  # called with a viewer and a post id
# called with a viewer; returns short notes by post id, shown beside the candidates of the viewer's home page
NOTES = Hook[Callable[[User], Mapping[int, str]]]()
CACHES = Hook[AuditedCache]()
