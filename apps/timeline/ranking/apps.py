"""The ranking app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RankingConfig(AppConfig):
    name = "apps.timeline.ranking"
    verbose_name = _("Ranking")

    def ready(self) -> None:
        from apps.timeline.ranking import algorithms  # noqa: F401, PLC0415 -- registers a check
