"""The announcements app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AnnouncementsConfig(AppConfig):
    """What staff tell everybody."""

    name = "apps.announcements"
    verbose_name = _("announcements")
