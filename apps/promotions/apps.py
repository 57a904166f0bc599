"""The promotions app. Optional."""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as all_apps
from django.db import DEFAULT_DB_ALIAS
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from apps.promotions.vocabulary import TRAITS


class PromotionsConfig(AppConfig):
    """The app of segments, campaigns and virtual follows."""

    name = "apps.promotions"
    verbose_name = _("promotions")

    def ready(self) -> None:
        """Add virtual follows, promoted posts on home pages, a settings page, files in archives, and a demo campaign.

        The traits in `vocabulary` are inserted after migrations.
        """
        from apps.api.hooks import SHOWN, STATUS_FIELDS  # noqa: PLC0415 -- needs the models
        from apps.demo.hooks import SEEDING  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE  # noqa: PLC0415 -- needs the models
        from apps.promotions.integrations import archive, impressions  # noqa: PLC0415 -- needs the models
        from apps.promotions.queries import (  # noqa: PLC0415 -- needs the models
            is_anything_promoted,
            promotions_for,
            virtual_followee_ids,
        )
        from apps.timeline.pipeline.hooks import PROMOTERS  # noqa: PLC0415 -- needs the models
        from apps.timeline.sources.virtual_follows import (  # noqa: PLC0415 -- needs the models
            VIRTUAL_FOLLOWS,
            VirtualFollows,
        )
        from apps.web.hooks import INSERTS, PAGES, SETTINGS, Insert, SettingsTab  # noqa: PLC0415 -- needs the models

        VIRTUAL_FOLLOWS.add(VirtualFollows("promotions_virtualfollow", virtual_followee_ids))
        PROMOTERS.add(promotions_for)
        STATUS_FIELDS.add("apps.promotions.integrations.api.FIELD")
        SHOWN.add(impressions.count_shown)
        PAGES.add("apps.promotions.integrations.pages")
        SETTINGS.add(
            SettingsTab(
                "promotions",
                _("Promoted posts"),
                after="filters",
                icon="info",
                about=_("Whether you see them, and why"),
            )
        )
        INSERTS.add(
            Insert("pitch", "promotions/_pitch.html", is_anything_promoted),
            Insert("privacy", "promotions/_privacy.html"),
            Insert("catch_up", "promotions/_not_counted.html"),
            Insert("as_of", "promotions/_not_shown.html"),
        )
        ARCHIVE.add(*archive.PARTS)
        SEEDING.add("apps.promotions.integrations.demo.make_promotions")
        post_migrate.connect(add_traits, sender=self)


def add_traits(using: str, apps: Any = all_apps, **_kwargs: Any) -> None:
    """Insert missing traits; rows that staff changed stay as they are."""
    try:
        traits = apps.get_model("promotions", "Trait").objects
    except LookupError:  # not migrated yet
        return
    if using == DEFAULT_DB_ALIAS:
        rows = [traits.model(slug=slug, name=name) for slug, name in TRAITS.items()]
        traits.bulk_create(rows, ignore_conflicts=True)
