"""The syndication app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SyndicationConfig(AppConfig):
    name = "apps.syndication"
    verbose_name = _("syndication")
