"""The operations app. It gives feedcache the stored topology, and counts SQL statements."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.utils.translation import gettext_lazy as _

from apps.sql import count_statements_of
from feedcache.servers.topology_listener import set_store


class OperationsConfig(AppConfig):
    name = "apps.operations"
    verbose_name = _("caches")

    def ready(self) -> None:
        from apps.operations.queries import stored  # noqa: PLC0415 -- needs the models

        set_store(stored)
        connection_created.connect(count_statements_of, dispatch_uid="operations.statements")
