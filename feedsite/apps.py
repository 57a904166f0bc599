"""The project as an app: its checks and its commands."""

from django.apps import AppConfig


class FeedsiteConfig(AppConfig):
    """What belongs to no single app."""

    name = "feedsite"

    def ready(self) -> None:
        """Register the checks."""
        from feedsite import checks  # noqa: F401, PLC0415 -- registers them
