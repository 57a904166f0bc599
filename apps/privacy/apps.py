"""The privacy app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PrivacyConfig(AppConfig):
    name = "apps.privacy"
    verbose_name = _("Personal data")
