"""Writes the reason for a promoted post, or for a membership in a segment, in the reader's language.

A segment's description or a trait's name is left out if its script shows that it is in another language.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.languages import WRITTEN, in_page_language
from apps.promotions.models import RuleKind


@dataclass(frozen=True, slots=True)
class RuleFact:
    """A rule that the reader matches. `value` is a name, a handle, a language code, a number of days or a date."""

    kind: str
    value: str


def membership(people: str, facts: Sequence[RuleFact]) -> str:
    """A sentence such as "You are counted among first-year students because you said so (first-year student)." """
    said = {"people": in_page_language(people), "reasons": _reasons(facts)}
    if not said["people"]:
        return _("You are included because %(reasons)s.") % said
    return _("You are counted among %(people)s because %(reasons)s.") % said


def reason(people: str, facts: Sequence[RuleFact]) -> str:
    """A sentence such as "Promoted to first-year students because you said so (first-year student)." """
    said = {"people": in_page_language(people), "reasons": _reasons(facts)}
    if not said["people"]:
        return _("Promoted to you because %(reasons)s.") % said
    return _("Promoted to %(people)s because %(reasons)s.") % said


def _reasons(facts: Sequence[RuleFact]) -> str:
    return reduce(_and, dict.fromkeys(map(_because, facts)), "")


def _and(first: str, second: str) -> str:
    return _("%(first)s and %(second)s") % {"first": first, "second": second} if first else second


def _because(fact: RuleFact) -> str:
    if fact.kind == RuleKind.ACTIVE:
        text = ngettext(
            "you posted within the last day",
            "you posted within the last %(days)d days",
            int(fact.value),
        )
        return text % {"days": int(fact.value)}
    if fact.kind == RuleKind.JOINED:
        return _("you joined on %(day)s or later") % {
            "day": date_format(date.fromisoformat(fact.value))
        }
    if fact.kind == RuleKind.TRAIT:
        trait = in_page_language(_(fact.value)) if fact.value else ""
        return _("you said so (%(value)s)") % {"value": trait} if trait else _("you said so")
    text, value = {
        RuleKind.LANGUAGE: (_("your language is %(value)s"), dict(WRITTEN).get(fact.value, fact.value)),
        RuleKind.FOLLOWS_ACCOUNT: (_("you follow @%(value)s"), fact.value),
        RuleKind.FOLLOWS_TAG: (_("you follow #%(value)s"), fact.value),
    }[RuleKind(fact.kind)]  # fmt: skip
    return text % {"value": value}
