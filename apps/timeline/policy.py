"""Which policies are in force, as every process has to know them.

Readers merge the outboxes of *merged* authors into what their windows hold. Merging is a union of ids, so it may be done
too long and for too many, but never for too few: the merged set must contain every author with a post that windows lack.
So switching announces, then acts (`switching`), and readers notice announcements without asking for them: the version of
the set is a small key beside the windows, read with them, in the same moment and the same round trip. A process whose
set is of another version, or that finds no key, loads the set from PostgreSQL before it uses what it has read.
"""

import logging
from dataclasses import dataclass
from typing import Any

from django.db import connection

from apps.posts.models import OPEN
from apps.timeline.models import Mode
from feedcache.redis_servers.clients import evalsha, execute
from feedcache.redis_servers.connections import RedisError, timelines

logger = logging.getLogger(__name__)

VERSION_KEY = "policies:1:version"

_LOAD = """
SELECT coalesce(max(version), 0), coalesce(bool_or(pulls_all), false), coalesce(max(generation), 0),
    ARRAY(SELECT author_id FROM timeline_authorpolicy WHERE merged_since IS NOT NULL)
FROM timeline_sitepolicy
"""

_MODE = """
WITH own AS (SELECT mode FROM timeline_authorpolicy WHERE author_id = %s FOR SHARE),
    site AS (SELECT mode FROM timeline_sitepolicy FOR SHARE)
SELECT coalesce((SELECT mode FROM own), (SELECT mode FROM site), 'online')
"""

# A version never goes back, whoever is late.
_ANNOUNCE = """
local known = tonumber(redis.call('GET', KEYS[1]) or '-1')
if known and known >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""


@dataclass(frozen=True, slots=True)
class PoliciesInForce:
    """What readers have to know: whose outboxes are merged, and which generation of home windows is used."""

    version: int = -1
    pulls_all: bool = False
    generation: int = 0
    merged: frozenset[int] = frozenset()

    def is_current(self, answer: bytes | None) -> bool:
        """Whether this is what the key beside the windows speaks of."""
        return answer is not None and answer == str(self.version).encode()


@dataclass(slots=True)
class _Process:
    known: PoliciesInForce


_process = _Process(PoliciesInForce())


def known() -> PoliciesInForce:
    """What this process knows, perhaps of an older version."""
    return _process.known


def generation() -> int:
    """The generation of home windows, as this process knows it."""
    return _process.known.generation


def forget() -> None:
    """Know nothing, as after the start."""
    _process.known = PoliciesInForce()


def load() -> PoliciesInForce:
    """What is in force now, from PostgreSQL; announced, unless something newer is."""
    with connection.cursor() as sql:
        sql.execute(_LOAD)
        version, pulls_all, generation, merged = sql.fetchone() or (0, False, 0, [])
    _process.known = PoliciesInForce(version, pulls_all, generation, frozenset(merged))
    try:
        announce(version)
    except RedisError as error:
        logger.debug("version %s of the policies not announced: %s", version, error)
    return _process.known


def refresh() -> PoliciesInForce:
    """What is in force now: what this process knows, if the key beside the windows says so."""
    try:
        answer: Any = timelines().get(VERSION_KEY)
    except RedisError:
        answer = None
    return _process.known if _process.known.is_current(answer) else load()


def announce(version: int) -> None:
    """Tell all processes that there is a new version. RedisError is the caller's: who acts must have announced."""
    execute(timelines(), [evalsha(_ANNOUNCE, [VERSION_KEY], [version])])


def mode_for(author_id: int, visibility: str) -> Mode:
    """How a post goes out that is delivered now; in the transaction that writes it down.

    The rows stay locked against a switch until then: a switch that has ended a pull can see every post of the pull.
    """
    if visibility not in OPEN:
        return Mode.ONLINE  # restricted posts go to inboxes, whatever the policy
    with connection.cursor() as sql:
        sql.execute(_MODE, [author_id])
        return Mode(sql.fetchone()[0])
