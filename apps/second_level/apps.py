"""The app of the second level. Optional; its tables are defined in `apps.timeline.models`."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SecondLevelConfig(AppConfig):
    name = "apps.second_level"
    verbose_name = _("second level")

    def ready(self) -> None:
        """Let timelines read older pages and build home caches from stored rows; write rows when posts are pushed.

        Also add a comparison of the rows with the posts for the auditor, and an erasure step.
        """
        from apps.audit.hooks import CACHES  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ERASURE  # noqa: PLC0415 -- needs the models
        from apps.second_level import auditing, checks, older, privacy, spans  # noqa: F401, PLC0415 -- checks registers itself
        from apps.timeline.fanout.hooks import PUSHED  # noqa: PLC0415 -- needs the models
        from apps.timeline.sources.hooks import (  # noqa: PLC0415 -- needs the models
            STORED_TIMELINES,
            StoredTimelines,
        )

        STORED_TIMELINES.add(StoredTimelines(older.page, older.newest))
        PUSHED.add(spans.push_chunk)
        CACHES.add(auditing.CACHE)
        ERASURE.add(privacy.stored_timeline)
