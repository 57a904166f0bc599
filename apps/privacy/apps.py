"""The personal app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PersonalConfig(AppConfig):
    """Archives, and the end of accounts."""

    name = "apps.privacy"
    label = "personal"
    verbose_name = _("Personal data")
