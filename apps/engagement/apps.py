"""The engagement app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EngagementConfig(AppConfig):
    name = "apps.engagement"
    verbose_name = _("engagement")
