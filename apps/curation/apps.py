"""The app for collections. Optional."""

from django.apps import AppConfig
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


class CurationConfig(AppConfig):
    name = "apps.curation"
    verbose_name = _("collections")

    def ready(self) -> None:
        """Add pages, endpoints with scopes, API fields, and functions for notifications, moderation and privacy."""
        from apps.curation import privacy, queries  # noqa: PLC0415 -- needs the models
        from apps.curation.actions import store_reported  # noqa: PLC0415 -- needs the models
        from apps.moderation.hooks import FILED  # noqa: PLC0415 -- needs the models
        from apps.notifications.hooks import ABOUT  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE, ERASURE  # noqa: PLC0415 -- needs the models
        from apps.web import hooks as web  # noqa: PLC0415 -- needs the models

        _add_to_api()
        web.PAGES.add("apps.curation.pages")
        address, name = reverse_lazy("collections"), _("Collections")
        web.TABS.add(web.Tab(85, "collections", address, name, is_in_menu=True))
        web.PROFILE_LINKS.add(web.ProfileLink(queries.HAS_COLLECTIONS, "/collections", name))
        web.INSERTS.add(web.Insert("person_menu", "curation/_menu.html"))
        web.INSERTS.add(web.Insert("case", "curation/_reported.html"))
        FILED.add(store_reported)
        ABOUT.add(queries.what_notifications_are_about)
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.collections)


def _add_to_api() -> None:
    from apps import scopes  # noqa: PLC0415 -- next to the imports that need the models
    from apps.api import hooks  # noqa: PLC0415 -- needs the models
    from apps.curation.actions import MAX_COLLECTIONS  # noqa: PLC0415 -- needs the models
    from apps.curation.queries import approval_json  # noqa: PLC0415 -- needs the models

    for access in ("read", "write"):
        name = f"{access}:collections"
        scopes.COVERED[access] |= {name}
        scopes.NAMES.add(name)
        scopes.OFFERED.add(name)
    hooks.COLLECTIONS.add(hooks.Collections(MAX_COLLECTIONS, approval_json))
    hooks.MASTODON_ENDPOINTS.add("apps.curation.api")
    hooks.NOTIFICATION_FIELDS.add("apps.curation.entities.COLLECTION")
