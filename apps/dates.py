"""Moments in words, in the reader's language and zone."""

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import pgettext


def full_time(moment: datetime) -> str:
    """Day, time and zone."""
    # Translators: a Django date format.
    day = date_format(moment, pgettext("date format", "j F Y, H:i"))
    return f"{day} {timezone.localtime(moment):%Z}"
