"""The oauth app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OauthConfig(AppConfig):
    name = "apps.oauth"
    verbose_name = _("applications")
