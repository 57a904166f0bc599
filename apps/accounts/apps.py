"""The accounts app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "apps.accounts"
    verbose_name = _("accounts")

    def ready(self) -> None:
        import_module("apps.accounts.handlers")
        import_module("apps.accounts.mail.checks")
