"""Why a post is not on a home page: questions in the order in which the page applies its rules, up to the first failure."""

import re
from dataclasses import dataclass
from enum import Enum

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.audit.explain.reasons import Explanation, Source, explain
from apps.errors import NotFound
from apps.filters.models import FilterContext
from apps.timeline.home import newer_count
from apps.timeline.pipeline.filters import is_hidden, mark_filtered
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import parse_id

MAX_COUNTED = 99
_NUMBER = re.compile(r"([0-9]{1,20})/?(?:[?#].*)?\Z", re.ASCII)


class Mark(Enum):
    YES = "yes"
    NO = "no"
    NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class Check:
    """A question and its answer; `text` gives the reason of a failure."""

    question: str
    mark: Mark
    text: str = ""


@dataclass(frozen=True, slots=True)
class Checklist:
    """All questions about a post; `item` is None when the post does not exist or is hidden from the viewer."""

    item: FeedItem | None
    checks: list[Check]


def post_id_in(text: str) -> int | None:
    """The post id in pasted text: the address of a post, or a plain id."""
    found = _NUMBER.search(text.strip())
    try:
        return parse_id(found[1]) if found else None
    except ValueError:
        return None


def checklist(viewer: User, post_id: int) -> Checklist:
    """Why a post is not on a viewer's home page, or its position. Blocked, deleted, restricted and absent look the same."""
    questions = _questions()
    try:
        found = explain(viewer, post_id)
    except NotFound:
        return Checklist(
            None, _answered(questions, 0, _("There is no such post, or it is not for you."))
        )
    if not found.on_home:
        failed = next((n for n, (_q, ways) in enumerate(questions) if found.way in ways), 1)
        return Checklist(found.item, _answered(questions, failed, found.text))
    item = mark_filtered(viewer, FilterContext.HOME, found.item)
    if is_hidden(FilterContext.HOME, item):
        names = ", ".join(item.warnings)
        text = _("Your filter hides it: %(names)s.") % {"names": names}
        return Checklist(item, _answered(questions, len(questions) - 1, text))
    checks = _answered(questions, len(questions), "")
    return Checklist(item, [*checks, Check(_position(viewer, found), Mark.YES)])


def _questions() -> list[tuple[str, tuple[Source, ...]]]:
    """Each question, and the reasons that answer it with no."""
    return [
        (_("Is there such a post, and may you see it?"), ()),
        (_("Do you follow its author or one of its tags?"), (Source.NOT_FOLLOWED,)),
        (
            _("Is its author read on your home page, and not in a list by themselves?"),
            (Source.LISTED,),
        ),
        (_("Are its author and whom it shares not muted?"), (Source.MUTED,)),
        (_("Do you want reposts of this account?"), (Source.UNSHARED,)),
        (_("Is it in a language that you read of this account?"), (Source.LANGUAGE,)),
        (_("Was it delivered to your home page?"), (Source.FAILED, Source.WAITING, Source.LOST)),
        (_("Do none of your filters hide it?"), ()),
    ]


def _answered(
    questions: list[tuple[str, tuple[Source, ...]]], failed: int, text: str
) -> list[Check]:
    checks = []
    for number, (question, _ways) in enumerate(questions):
        mark = Mark.YES if number < failed else Mark.NO if number == failed else Mark.NOT_ASKED
        checks.append(Check(question, mark, text if mark is Mark.NO else ""))
    return checks


def _position(viewer: User, found: Explanation) -> str:
    above = newer_count(viewer, found.item.id, maximum=MAX_COUNTED)
    if above >= MAX_COUNTED:
        return _("It is on your home page, below %(count)d other posts or more.") % {"count": above}
    text = ngettext(
        "It is on your home page, below %(count)d other post.",
        "It is on your home page, below %(count)d other posts.",
        above,
    )
    return text % {"count": above}
