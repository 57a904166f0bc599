"""The filters app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FiltersConfig(AppConfig):
    name = "apps.filters"
    verbose_name = _("filters")
