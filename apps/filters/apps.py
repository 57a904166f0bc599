"""The filters app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FiltersConfig(AppConfig):
    """Words and posts to be warned of."""

    name = "apps.filters"
    verbose_name = _("filters")
