"""The topology app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TopologyConfig(AppConfig):
    """The cache servers and what staff do with them."""

    name = "apps.operations"
    label = "topology"
    verbose_name = _("caches")
