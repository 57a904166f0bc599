"""Finds the block that applies to a sign-up, and waves of sign-ups."""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from django.db.models import Count, DurationField, ExpressionWrapper, Min, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.accounts.signals import SignUp
from apps.sign_ups.models import Kind, ascii_domain, email_digest
from apps.sql import rows_of

# There is a wave if the last hour has at least AT_LEAST new accounts, and more than TIMES the usual number. The usual
# number is the hourly average before that hour; it is known once the accounts before it span at least KNOWN, or once
# the site has _NEWEST accounts.
TIMES, AT_LEAST, KNOWN = 5, 20, timedelta(days=1)
_NEWEST = 5_000  # accounts that are counted

_APPLYING = f"""
SELECT id, kind FROM sign_ups_signupblock
WHERE (expires_at IS NULL OR expires_at > now()) AND CASE kind
    WHEN '{Kind.RANGE}' THEN nullif(%(address)s, '')::inet <<= value::inet
    WHEN '{Kind.DOMAIN}' THEN value = ANY(%(domains)s)
    WHEN '{Kind.EMAIL}' THEN value = %(email)s
    WHEN '{Kind.HANDLE}' THEN value = %(handle)s OR right(value, 1) = '*' AND starts_with(%(handle)s, rtrim(value, '*'))
END
ORDER BY id LIMIT 1
"""  # noqa: S608 -- constants


class Applying(NamedTuple):
    id: int
    kind: str


class Wave(NamedTuple):
    """The number of new accounts in the last hour, and the hourly average before it.

    If at least _NEWEST accounts are that new, `number` is _NEWEST, and `usual` is None.
    """

    number: int
    usual: float | None


def block_of(sign_up: SignUp) -> Applying | None:
    """The oldest block that applies to a sign-up; None if there is none."""
    labels = ascii_domain(sign_up.email.rpartition("@")[2].lower()).split(".")
    values = {
        "address": sign_up.address,
        "domains": [".".join(labels[start:]) for start in range(len(labels) - 1)],
        "email": email_digest(sign_up.email) if sign_up.email else "",
        "handle": sign_up.handle,
    }
    return next((Applying(*row) for row in rows_of(_APPLYING, values)), None)


def current_wave() -> Wave | None:
    """The wave of sign-ups, if many more accounts than usual were created in the last hour.

    None on a new site, with fewer than _NEWEST accounts in less than a day: there is no usual number then.
    """
    hour_ago = Now() - timedelta(hours=1)
    found = User.objects.order_by("-pk")[:_NEWEST].aggregate(
        number=Count("pk", filter=Q(created_at__gt=hour_ago)),
        before=Count("pk", filter=Q(created_at__lte=hour_ago)),
        known=ExpressionWrapper(hour_ago - Min("created_at"), DurationField()),
    )
    number, before = found["number"], found["before"]
    if number < AT_LEAST:
        return None
    if number == _NEWEST:
        return Wave(number, None)
    # in a large wave, the newest _NEWEST accounts may all be less than a day old
    if found["known"] < KNOWN and number + before < _NEWEST:
        return None
    usual = before / (found["known"] / timedelta(hours=1))
    return Wave(number, usual) if number > TIMES * usual else None


def wave_that_runs() -> Iterator[tuple[str, str]]:
    """A sentence about the current wave, with a link, for the first staff page."""
    wave = current_wave()
    if wave is None:
        return
    if wave.usual is None:
        text = _("At least %(number)d new accounts in the last hour. Sign-ups are slowed down.")
        values: dict[str, object] = {"number": wave.number}
    else:
        text = ngettext(
            "%(number)d new account in the last hour, usually %(usual)s. Sign-ups are slowed down.",
            "%(number)d new accounts in the last hour, usually %(usual)s. Sign-ups are slowed down.",
            wave.number,
        )
        values = {"number": wave.number, "usual": f"{wave.usual:.1f}"}
    yield text % values, reverse("admin:accounts_user_changelist")
