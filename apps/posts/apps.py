"""The posts app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PostsConfig(AppConfig):
    name = "apps.posts"
    verbose_name = _("posts")

    def ready(self) -> None:
        import_module("apps.posts.handlers")
