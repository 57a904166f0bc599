"""The app of push messages. Optional."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PushConfig(AppConfig):
    name = "apps.push"
    verbose_name = _("push messages")

    def ready(self) -> None:
        """Add pages, Mastodon's endpoint, key and scope, push messages, an archive file, an erasure step."""
        from apps import scopes  # noqa: PLC0415 -- next to the imports that need the models
        from apps.api.hooks import MASTODON_ENDPOINTS, VAPID_KEY  # noqa: PLC0415 -- needs the models
        from apps.notifications.hooks import CREATED  # noqa: PLC0415 -- needs the models
        from apps.privacy.hooks import ARCHIVE, ERASURE  # noqa: PLC0415 -- needs the models
        from apps.push import privacy  # noqa: PLC0415 -- needs the models
        from apps.push.encryption import public_key  # noqa: PLC0415 -- the import registers a system check
        from apps.push.sending import queue  # noqa: PLC0415 -- needs the models
        from apps.web.hooks import INSERTS, PAGES, Insert  # noqa: PLC0415 -- needs the models

        PAGES.add("apps.push.pages")
        MASTODON_ENDPOINTS.add("apps.push.api")
        VAPID_KEY.add(public_key)
        scopes.OFFERED.add("push")
        CREATED.add(queue)
        INSERTS.add(
            Insert("words", "push/_words.html"),
            Insert("device_settings", "push/_devices.html", lambda: bool(public_key())),
            Insert("device_privacy", "push/_privacy.html"),
        )
        ARCHIVE.add(privacy.ARCHIVE)
        ERASURE.add(privacy.push_devices)
