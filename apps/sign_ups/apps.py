"""The app that refuses sign-ups: blocks set by staff, and limits during a wave. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SignUpsConfig(AppConfig):
    name = "apps.sign_ups"
    verbose_name = _("sign-ups")

    def ready(self) -> None:
        """Check each sign-up, and show waves on the first staff page."""
        from apps.accounts.signals import SIGN_UPS  # noqa: PLC0415 -- needs the models
        from apps.moderation.hooks import WAITING  # noqa: PLC0415 -- needs the models
        from apps.sign_ups.actions import refuse_blocked, slow_down_wave  # noqa: PLC0415 -- needs the models
        from apps.sign_ups.queries import wave_that_runs  # noqa: PLC0415 -- needs the models

        SIGN_UPS.add(refuse_blocked, slow_down_wave)
        WAITING.add(wave_that_runs)
