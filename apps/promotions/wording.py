"""Why somebody sees a promoted post, in plain words and in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.languages import WRITTEN
from apps.promotions.models import RuleKind


@dataclass(frozen=True, slots=True)
class RuleFact:
    """A rule that holds of the reader. `value` is the name, handle, code, number or day that it is about."""

    kind: str
    value: str


def membership(people: str, facts: Sequence[RuleFact]) -> str:
    """ "You are counted among first-year students because you said so (first-year student)." """
    reasons = _reasons(facts)
    return _("You are counted among %(people)s because %(reasons)s.") % {
        "people": people,
        "reasons": reasons,
    }


def reason(people: str, facts: Sequence[RuleFact]) -> str:
    """ "Promoted to first-year students because you said so (first-year student)." """
    reasons = _reasons(facts)
    return _("Promoted to %(people)s because %(reasons)s.") % {"people": people, "reasons": reasons}


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
    text, value = {
        RuleKind.TRAIT: (_("you said so (%(value)s)"), _(fact.value) if fact.value else ""),
        RuleKind.LANGUAGE: (_("your language is %(value)s"), dict(WRITTEN).get(fact.value, fact.value)),
        RuleKind.FOLLOWS_ACCOUNT: (_("you follow @%(value)s"), fact.value),
        RuleKind.FOLLOWS_TAG: (_("you follow #%(value)s"), fact.value),
    }[RuleKind(fact.kind)]  # fmt: skip
    return text % {"value": value}
