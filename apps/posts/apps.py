"""The posts app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PostsConfig(AppConfig):
    """Posts and what belongs to them."""

    name = "apps.posts"
    verbose_name = _("posts")

    def ready(self) -> None:
        """Subscribe the app's handlers."""
        import_module("apps.posts.handlers")
