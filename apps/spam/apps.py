"""The app that examines new and edited posts for spam with heuristics, which are plug-ins. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SpamConfig(AppConfig):
    name = "apps.spam"
    verbose_name = _("spam")

    def ready(self) -> None:
        """Add a part to the pages of reports, a file in archives, and an erasure step."""
        from apps.privacy.hooks import ARCHIVE, ERASURE  # noqa: PLC0415 -- needs the models
        from apps.spam import privacy  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import INSERTS, Insert  # noqa: PLC0415 -- needs the models

        INSERTS.add(Insert("case", "spam/_verdicts.html"))
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.verdicts)
