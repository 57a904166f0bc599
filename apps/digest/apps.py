"""The app for the weekly e-mail. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DigestConfig(AppConfig):
    name = "apps.digest"
    verbose_name = _("weekly e-mail")

    def ready(self) -> None:
        """Add a switch in the settings, a page to unsubscribe, a file in archives, and a step in erasures."""
        from apps.digest import privacy  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE, ERASURE  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import INSERTS, PAGES, Insert  # noqa: PLC0415 -- needs the models

        PAGES.add("apps.digest.pages")
        INSERTS.add(Insert("mail_settings", "digest/_settings.html"))
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.digests)
