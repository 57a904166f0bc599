"""The operations app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OperationsConfig(AppConfig):
    name = "apps.operations"
    label = "topology"
    verbose_name = _("caches")
