"""The promotions app."""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as all_apps
from django.db import DEFAULT_DB_ALIAS
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from apps.promotions.vocabulary import TRAITS


class PromotionsConfig(AppConfig):
    """Segments, campaigns, virtual follows."""

    name = "apps.promotions"
    verbose_name = _("promotions")

    def ready(self) -> None:
        """Add the traits of the vocabulary after migrations."""
        post_migrate.connect(_add_traits, sender=self)


def _add_traits(using: str, apps: Any = all_apps, **_kwargs: Any) -> None:
    """Those that are missing; what staff changed stays."""
    try:
        traits = apps.get_model("promotions", "Trait").objects
    except LookupError:  # not migrated yet
        return
    if using == DEFAULT_DB_ALIAS:
        rows = [traits.model(slug=slug, name=name) for slug, name in TRAITS.items()]
        traits.bulk_create(rows, ignore_conflicts=True)
