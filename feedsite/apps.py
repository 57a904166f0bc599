"""The project as an app: its checks, its commands and its translations."""

from django.apps import AppConfig


class FeedsiteConfig(AppConfig):
    name = "feedsite"

    def ready(self) -> None:
        from feedsite import checks  # noqa: F401, PLC0415 -- the import registers the checks
        from feedsite.caches import configure_feedcache  # noqa: PLC0415 -- needs the settings
        from feedsite.files import translations  # noqa: PLC0415 -- needs the settings

        configure_feedcache()
        translations.compile_changed()
