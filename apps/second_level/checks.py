"""System checks for the second level's settings."""

from collections.abc import Iterator
from importlib.util import find_spec

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error

from apps.second_level.stores import CASSANDRA, POSTGRESQL


@checks.register(checks.Tags.database)
def check_timeline_store(**_options: object) -> list[CheckMessage]:
    """Reject an unknown store or one without tables. Only warn if its nodes are down, because pages still work."""
    return list(_wrong_with_timeline_store(settings.TIMELINE_STORE))


def _wrong_with_timeline_store(url: str) -> Iterator[CheckMessage]:
    if not url.startswith(CASSANDRA):
        if url != POSTGRESQL:
            hint = "'postgresql', or cassandra://host,host:9042/keyspace"
            yield Error("TIMELINE_STORE names no known store.", hint=hint, id="feedsite.E030")
        return
    if find_spec("cassandra") is None:
        hint = "pip install cassandra-driver, in the version of requirements-dev.txt"
        yield Error("TIMELINE_STORE needs cassandra-driver.", hint=hint, id="feedsite.E031")
        return
    from apps.second_level.stores import cassandra  # noqa: PLC0415 -- needs the driver

    try:
        if not cassandra.has_tables(cassandra.Address.parse(url)):
            yield Error(
                "The keyspace of TIMELINE_STORE has no table for timelines.",
                hint="manage cassandra creates it.",
                id="feedsite.E032",
            )
    except ValueError as error:
        yield Error(f"TIMELINE_STORE: {error}.", id="feedsite.E030")
    except cassandra.ERRORS as error:
        hint = "Pages older than the home caches come from PostgreSQL until a node answers."
        yield checks.Warning(f"TIMELINE_STORE: {error}", hint=hint, id="feedsite.W030")
