"""The second level in both of its stores: a test that uses the fixture `store` runs once with each."""

from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from apps.second_level.stores import timeline_store
from apps.timeline.models import TimelineEntry
from tools.scale import cassandra as servers

STORES = ["postgresql", pytest.param("cassandra", marks=pytest.mark.clusters)]


@contextmanager
def server(directory):
    """A Cassandra node with the tables; skips the test where Cassandra cannot be started."""
    if reason := servers.missing():
        pytest.skip(reason)
    from apps.second_level.stores.cassandra import Address, create_tables  # noqa: PLC0415 -- needs the driver

    with servers.cassandra(directory) as node:
        create_tables(Address.parse(node.url))
        yield node


@contextmanager
def in_cassandra(node):
    """Keep the second level in Cassandra, with a timeout that is long enough for a busy machine."""
    with override_settings(TIMELINE_STORE=node.url, CASSANDRA_TIMEOUT_SECONDS=5.0):
        yield


def connection():
    store: Any = timeline_store()
    return store._connection()


def stored(reader_id):
    """The ids of a reader's rows, newest first, whether or not a span covers them."""
    if settings.TIMELINE_STORE == "postgresql":
        rows = TimelineEntry.objects.filter(reader=reader_id).order_by("-post_id")
        return list(rows.values_list("post_id", flat=True))
    connected = connection()
    rows = connected.session.execute(connected.all, (reader_id,))
    return [row.article_id for row in rows if row.article_id]
