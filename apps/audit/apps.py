"""The audit app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AuditConfig(AppConfig):
    """Its name in the admin."""

    name = "apps.audit"
    verbose_name = _("audit")
