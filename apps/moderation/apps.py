"""The moderation app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ModerationConfig(AppConfig):
    name = "apps.moderation"
    verbose_name = _("moderation")
