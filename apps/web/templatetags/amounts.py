"""Numbers and times, short and in the reader's language."""

from datetime import datetime

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, pgettext

from apps.dates import age, full_time, machine_time
from apps.web.post_card import AGES

register = template.Library()

MAX_BADGE = 100
_UNITS = {
    "en": ((10**9, "B"), (10**6, "M"), (10**3, "K")),
    "zh": ((10**8, "亿"), (10**4, "万")),
}


@register.filter
def compact(number: int) -> str:
    """A short number: 12, 999, 1.2K, 340K, 3.4M; in Chinese 9999, 1.2万, 3.4亿. Never rounded up."""
    units = _UNITS["zh" if (get_language() or "").startswith("zh") else "en"]
    for size, sign in units:
        if number >= size:
            tenths = number * 10 // size
            text = f"{tenths / 10:g}" if tenths < 1000 else str(tenths // 10)
            return f"{text}{sign}"
    return str(number)


@register.filter
def exact(number: int) -> str:
    """A number with thousands separators."""
    return number_format(number, use_l10n=True, force_grouping=True)


@register.filter
def badge(number: int) -> str:
    """The text of a badge: at most 99+; empty for 0."""
    return "" if not number else str(number) if number < MAX_BADGE else f"{MAX_BADGE - 1}+"


@register.filter
def ago(moment: datetime) -> str:
    """The age of a time: now, 4m, 1h, yesterday, 18 Nov, 18 Nov 2025. app.js updates it by the same rules."""
    return age(moment, now=timezone.now(), language=get_language())


@register.simple_tag(takes_context=True)
def age_of(context: Context, moment: datetime) -> str:
    """The age of a time; on a card, a placeholder for the age, because cards are cached."""
    times = context.get("times") or ()
    return AGES[times.index(moment)] if moment in times else ago(moment)


register.filter(full_time)
register.filter(machine_time)


@register.filter
def moment(time: datetime) -> SafeString:
    """A <time> element, which app.js shows in the reader's time zone."""
    return format_html(
        '<time datetime="{}" data-full>{}</time>', machine_time(time), full_time(time)
    )


@register.filter
def short_moment(time: datetime) -> SafeString:
    """A <time> element with the age or the day, as on the cards of posts; its title is the full time."""
    return format_html(
        '<time class="when" datetime="{}" title="{}">{}</time>',
        machine_time(time), full_time(time), ago(time),
    )  # fmt: skip


@register.filter
def month(moment: datetime) -> str:
    # Translators: a Django date format.
    return date_format(moment, pgettext("date format", "F Y"))


@register.simple_tag
def age_words() -> dict[str, str]:
    """The words that app.js needs to keep ages current, with # for the number."""
    return {
        "now": pgettext("age of a post", "now"),
        "minutes": pgettext("age of a post", "%(count)dm").replace("%(count)d", "#"),
        "hours": pgettext("age of a post", "%(count)dh").replace("%(count)d", "#"),
        "yesterday": pgettext("age of a post", "yesterday"),
    }
