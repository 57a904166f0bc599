"""The app for game days on staging sites. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class GamedayConfig(AppConfig):
    name = "apps.gameday"
    verbose_name = _("game days")

    def ready(self) -> None:
        from apps.gameday import checks  # noqa: F401, PLC0415 -- registers itself
