"""Follows, blocks, mutes, lists and circles."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class GraphConfig(AppConfig):
    name = "apps.graph"
    verbose_name = _("graph")
