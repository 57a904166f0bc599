"""Numbers and times in few characters, in the reader's language."""

from datetime import datetime
from functools import cache

from django import template
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, pgettext

from apps.dates import full_time

register = template.Library()

MINUTE, HOUR, DAY = 60, 3600, 86400
BADGE_MOST = 100
_UNITS = {
    "en": ((10**9, "B"), (10**6, "M"), (10**3, "K")),
    "zh": ((10**8, "亿"), (10**4, "万")),
}


@register.filter
def compact(number: int) -> str:
    """12, 999, 1.2K, 340K, 3.4M; in Chinese 9999, 1.2万, 3.4亿. Never rounded up."""
    units = _UNITS["zh" if (get_language() or "").startswith("zh") else "en"]
    for size, sign in units:
        if number >= size:
            tenths = number * 10 // size
            text = f"{tenths / 10:g}" if tenths < 1000 else str(tenths // 10)
            return f"{text}{sign}"
    return str(number)


@register.filter
def exact(number: int) -> str:
    """The whole number with its separators."""
    return number_format(number, use_l10n=True, force_grouping=True)


@register.filter
def badge(number: int) -> str:
    """How many are unread, in the little room of a menu; nothing for none."""
    return "" if not number else str(number) if number < BADGE_MOST else f"{BADGE_MOST - 1}+"


@register.filter
def ago(moment: datetime) -> str:
    """now, 4m, 1h, yesterday, 18 Nov, 18 Nov 2025. The browser counts on with the same rules (app.js)."""
    return age(moment, now=timezone.now(), language=get_language())


def age(moment: datetime, *, now: datetime, language: str | None) -> str:
    """The same for many at one moment, in the language that is active."""
    seconds = max(int((now - moment).total_seconds()), 0)
    if seconds < 2 * DAY:
        unit = MINUTE if seconds < HOUR else HOUR if seconds < DAY else DAY
        return _recent(seconds // unit * unit, language)
    this_year = moment.year == now.year
    # Translators: Django date formats of a day of this year and of another year.
    return date_format(
        moment,
        pgettext("date format", "j M") if this_year else pgettext("date format", "j M Y"),
    )


@cache
def _recent(seconds: int, _language: str | None) -> str:
    """The age of what is younger than two days, in whole minutes, hours or days."""
    if seconds < MINUTE:
        return pgettext("age of a post", "now")
    if seconds < HOUR:
        return pgettext("age of a post", "%(count)dm") % {"count": seconds // MINUTE}
    if seconds < DAY:
        return pgettext("age of a post", "%(count)dh") % {"count": seconds // HOUR}
    return pgettext("age of a post", "yesterday")


register.filter(full_time)


@register.filter
def moment(time: datetime) -> SafeString:
    """The same as an element, which the browser puts on the reader's clock (app.js)."""
    return format_html(
        '<time datetime="{}" data-full>{}</time>', date_format(time, "c"), full_time(time)
    )


@register.filter
def month(moment: datetime) -> str:
    """The month of a date."""
    # Translators: a Django date format.
    return date_format(moment, pgettext("date format", "F Y"))


@register.simple_tag
def age_words() -> dict[str, str]:
    """What the browser needs to count ages on: the same texts, with # for the number."""
    return {
        "now": pgettext("age of a post", "now"),
        "minutes": pgettext("age of a post", "%(count)dm").replace("%(count)d", "#"),
        "hours": pgettext("age of a post", "%(count)dh").replace("%(count)d", "#"),
        "yesterday": pgettext("age of a post", "yesterday"),
    }
