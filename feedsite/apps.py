"""The project as an app: its checks and its commands."""

from django.apps import AppConfig


class FeedsiteConfig(AppConfig):
    name = "feedsite"

    def ready(self) -> None:
        from feedsite import checks  # noqa: F401, PLC0415 -- registers them
