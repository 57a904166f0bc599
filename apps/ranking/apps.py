"""Ranked orders of the home page. Optional."""

from django.apps import AppConfig
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


class RankingConfig(AppConfig):
    name = "apps.ranking"
    verbose_name = _("Ranking")

    def ready(self) -> None:
        """Add a page with its tab, endpoints, parts of explanations, and steps of audit, delivery and erasure."""
        from apps.api.hooks import ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.audit.hooks import CACHES, NOTES, SECTIONS  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ERASURE  # noqa: PLC0415 -- needs the models
        from apps.ranking import explain, privacy, rank_timeline  # noqa: PLC0415 -- needs the models; registers a check
        from apps.timeline.fanout.hooks import DELIVERED  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import PAGES, TABS, Tab  # noqa: PLC0415 -- needs the models

        PAGES.add("apps.ranking.pages")
        TABS.add(Tab(30, "ranked", reverse_lazy("ranked"), _("Ranked")))
        ENDPOINTS.add("apps.ranking.api")
        SECTIONS.add(explain.section)
        NOTES.add(explain.notes)
        CACHES.add(explain.CACHE)
        DELIVERED.add(rank_timeline.follow_delivery)
        ERASURE.add(privacy.rankings)
