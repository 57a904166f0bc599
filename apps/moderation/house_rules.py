"""The site's rules, shown on their own page, in the API and in reports."""

from typing import TypedDict

from django.conf import settings
from django.utils.translation import gettext, gettext_noop, override

# Numbers are permanent: reports refer to them.
RULES = {
    1: gettext_noop("Be civil. Argue about what is said, not about who says it."),
    2: gettext_noop("No threats, no harassment, no hatred of people for who they are."),
    3: gettext_noop("Nothing illegal, and nobody's private information without their consent."),
    4: gettext_noop("Put a content warning on posts that are not for everybody's eyes."),
    5: gettext_noop("Do not pose as somebody else, and do not advertise in bulk."),
    6: gettext_noop("Accounts run by programs must say so."),
}


# Languages that have another code in Mastodon.
_MASTODON_CODES = {"zh-hans": "zh-CN"}


class RuleTextJson(TypedDict):
    """A rule in one language."""

    text: str
    hint: str


class RuleJson(RuleTextJson):
    """A rule of the site."""

    id: str
    translations: dict[str, RuleTextJson]


def rules_json() -> list[RuleJson]:
    """The rules in the language of the request, in Mastodon's format."""
    return [
        {
            "id": str(number),
            "text": gettext(text),
            "hint": "",
            "translations": {
                _MASTODON_CODES.get(code, code): _in(code, text)
                for code, _name in settings.LANGUAGES
            },
        }
        for number, text in RULES.items()
    ]


def _in(code: str, text: str) -> RuleTextJson:
    with override(code):
        return {"text": gettext(text), "hint": ""}
