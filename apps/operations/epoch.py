"""The epoch of all caches. It ends when the database may have lost changes, or the settings have other Memcached nodes.

Caches stay current because revisions in the database only grow, and because every process that changes a row updates
the caches. They may be outdated if the database is restored to an earlier state, if a standby takes over (it may lack
the newest changes), or if a Memcached node returns to the settings after an absence. Then a new epoch begins, and
everything cached before is ignored. The epoch is part of all keys in Memcached; copies of PostgreSQL's data in Redis
are deleted.

Each call of `watch` increments the count `beats` in the database. Redis stores the highest count, so a lower count in
the database means that the database went back. A restored dump is also noticed by the new OID of the table of epochs,
even if Redis has lost the count.
"""

import hashlib
import logging
import secrets
from datetime import timedelta

from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.utils import timezone

from apps.operations.models import CacheEpoch, Reason
from apps.sql import rows_of
from feedcache.connections import RedisError, configuration, configured_topology
from feedcache.servers.flush import delete_everything
from feedcache.servers.topology_listener import publish_epoch, published_epoch
from feedcache.slot_map import BUCKETS

logger = logging.getLogger(__name__)

BEATS = "topology:beats"  # the highest count of beats
# Exists until the data of earlier epochs in Redis has been deleted.
FORGETTING = "topology:forgetting"
EPOCH_BITS = 48
# The database may have lost recent changes.
LOST = (Reason.WENT_BACK, Reason.OTHER_SERVER, Reason.ASKED)
NOTICE = timedelta(days=7)  # how long pages show that the database went back
# Clients store the highest id that they have seen, for example of notifications, and request higher ones. So ids that
# were used after the backup was made must not be used again. A tenth of the ids, but at least 1000, is skipped.
_SKIP_IDS = """
SELECT count(setval(format('%%I.%%I', schemaname, sequencename)::regclass,
    last_value + greatest(1000, last_value / 10)))
FROM pg_sequences WHERE schemaname = current_schema() AND data_type = 'bigint'::regtype AND last_value IS NOT NULL
"""
_LOCK = 0x65706F6368  # key of an advisory lock, held while an epoch begins
_SERVER = """
SELECT (SELECT system_identifier FROM pg_control_system())::text,
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int,
    'operations_cacheepoch'::regclass::oid::bigint
"""  # the name of a WAL file begins with its timeline


def current_epoch() -> int:
    """The current epoch; a site's first is 0. Begins a new one if the Memcached nodes in the settings have changed."""
    return _current().value


def begin_by_hand() -> int:
    """Begin an epoch at an operator's request, after a restore of the database."""
    return _begin(Reason.ASKED, after=_current()).value


def watch() -> int:
    """Begin an epoch if the database went back in time or changed servers; returns the current epoch.

    Raises RedisError.
    """
    client = configuration()
    newest = _current()
    seen = int(client.get(BEATS) or 0)
    CacheEpoch.objects.filter(pk=newest.pk).update(beats=F("beats") + 1)
    # read after `seen`, because other workers increment it too
    newest.refresh_from_db(fields=["beats"])
    published = published_epoch(by=client)
    is_unknown = published and not CacheEpoch.objects.filter(value=published).exists()
    if newest.beats <= seen or is_unknown:
        return _begin(Reason.WENT_BACK, after=newest, beats=seen).value
    system, timeline, table = _server()
    if (newest.system, newest.timeline) != (system, timeline):
        return _begin(Reason.OTHER_SERVER, after=newest, beats=seen).value
    if newest.table not in (table, 0):
        return _begin(Reason.WENT_BACK, after=newest, beats=seen).value
    if not newest.table:  # an older release wrote the row
        CacheEpoch.objects.filter(pk=newest.pk).update(table=table)
    client.set(BEATS, newest.beats)
    is_published = published == newest.value
    if client.exists(FORGETTING) or (published and not is_published):
        _forget_everything(newest)  # the process that began the epoch died, or Redis failed
    elif not is_published:
        publish_epoch(newest.value, by=client)
    return newest.value


def last_return() -> CacheEpoch | None:
    """The epoch that began when the database last went back, if pages should still mention it; otherwise None."""
    since = timezone.now() - NOTICE
    returns = CacheEpoch.objects.filter(reason=Reason.WENT_BACK, began_at__gt=since)
    return returns.order_by("-pk").first()


def _current() -> CacheEpoch:
    newest = newest_epoch()
    if newest is None:
        return _begin(Reason.INSTALLED, after=None)
    nodes = _nodes()
    if nodes and newest.nodes and nodes != newest.nodes:
        return _begin(Reason.NODES, after=newest)
    if nodes and not newest.nodes:  # the epoch began in a process without Memcached
        CacheEpoch.objects.filter(pk=newest.pk, nodes="").update(nodes=nodes)
    return newest


def newest_epoch() -> CacheEpoch | None:
    """The row of the current epoch; None on a site that has never run."""
    return CacheEpoch.objects.order_by("-pk").first()


def _begin(reason: Reason, *, after: CacheEpoch | None, beats: int = 0) -> CacheEpoch:
    """Begin an epoch after `after`, unless another process already has; returns the current epoch."""
    with transaction.atomic():
        with connection.cursor() as sql:
            sql.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        newest = newest_epoch()
        if newest is not None and newest != after:
            return newest
        system, timeline, table = _server()
        epoch = CacheEpoch.objects.create(
            value=0 if newest is None else secrets.randbelow(1 << EPOCH_BITS) + 1,
            reason=reason,
            nodes=_nodes(),
            system=system,
            timeline=timeline,
            table=table,
            beats=beats + 1,
        )
    if reason in LOST:
        _skip_ids()
    if reason != Reason.INSTALLED:
        _forget_everything(epoch)
    return epoch


def _skip_ids() -> None:
    """Make all bigint sequences skip the ids that may have been used for rows that are lost."""
    try:
        with transaction.atomic():
            rows_of(_SKIP_IDS, {})
    except DatabaseError as error:  # for example, if the sequences have another owner
        logger.warning("ids of the lost time may be given out again: %s", error)


def _forget_everything(epoch: CacheEpoch) -> None:
    logger.error("everything cached before is ignored from now on: %s", epoch.get_reason_display())
    try:
        configuration().set(FORGETTING, epoch.value)
        publish_epoch(epoch.value)
        configuration().set(BEATS, epoch.beats)
        delete_everything()
        configuration().delete(FORGETTING)
    except RedisError as error:
        logger.warning("could not delete the data in Redis, will try again: %s", error)


def _nodes() -> str:
    """A hash of the Memcached nodes in the settings and their places; empty for a process without Memcached."""
    topology = configured_topology()
    places = [f"{place} {node.url}" for place, node in topology.places()]
    widths = {len(topology.main), len(topology.backup), *map(len, topology.l1)}
    if any(width and BUCKETS % width for width in widths):
        places.append("by slot maps")  # releases without slot maps placed keys differently
    return hashlib.sha256("\n".join(places).encode()).hexdigest() if places else ""


def _server() -> tuple[str, int, int]:
    """PostgreSQL's system identifier, its current timeline, and the OID of the table of epochs."""
    [(system, timeline, table)] = rows_of(_SERVER, {})
    return system, timeline, table
