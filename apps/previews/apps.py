"""The app of link previews. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PreviewsConfig(AppConfig):
    name = "apps.previews"
    verbose_name = _("link previews")

    def ready(self) -> None:
        """Add link previews to posts, serve the previews' pictures, and add Mastodon's endpoints for links."""
        from apps.api.hooks import MASTODON_ENDPOINTS  # noqa: PLC0415 -- needs the models
        from apps.media.hooks import SERVED_FOLDERS, ServedFolder  # noqa: PLC0415 -- needs the models
        from apps.previews.models import FOLDER  # noqa: PLC0415 -- needs the models
        from apps.previews.queries import previews_of, serves  # noqa: PLC0415 -- needs the models
        from apps.timeline.pipeline.hooks import LINK_PREVIEWS  # noqa: PLC0415 -- needs the models

        LINK_PREVIEWS.add(previews_of)
        MASTODON_ENDPOINTS.add("apps.previews.api")
        SERVED_FOLDERS.add(ServedFolder(FOLDER, serves))
