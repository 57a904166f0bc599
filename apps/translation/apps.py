"""The translation app. Optional; it has no tables."""

from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class TranslationConfig(AppConfig):
    name = "apps.translation"
    verbose_name = _("translation")

    def ready(self) -> None:
        """Add a link below posts in other languages, the page that it opens, and Mastodon's endpoints."""
        from apps.api.hooks import MASTODON_ENDPOINTS, TRANSLATES  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import INSERTS, PAGES, Insert  # noqa: PLC0415 -- needs the models

        def is_on() -> bool:
            return bool(settings.TRANSLATE_URL)

        PAGES.add("apps.translation.pages")
        MASTODON_ENDPOINTS.add("apps.translation.api")
        TRANSLATES.add(is_on)
        INSERTS.add(Insert("below_text", "translation/_link.html", is_on))
