"""The delivery policies in force (which authors are pushed, and which are pulled), cached in every process.

`fanout.auto_policy` chooses the mode of authors whose policy is `auto`; `fanout.switch` puts every mode in force.

Readers merge the outboxes of *pulled* authors with their home caches. Merging is a union of ids, so merging too many
authors, or for too long, does no harm. But the set of pulled authors must contain every author who has a post that home
caches lack, so a switch is announced before it takes effect (`fanout.switch`). Readers notice it by the version of the
set, a small key that is stored with the home caches and read just before them. If the key is missing or has another
version, a process loads the set from PostgreSQL and reads the home cache again.
"""

import logging
from dataclasses import dataclass
from typing import Any

from django.db import connection

from apps.posts.models import OPEN
from apps.timeline.models import Mode
from feedcache.connections import RedisError, timelines, written
from feedcache.redis_clients import run_script

logger = logging.getLogger(__name__)

VERSION_KEY = "policies:1:version"

_LOAD = """
SELECT coalesce(max(version), 0), coalesce(bool_or(pulls_all), false), coalesce(max(generation), 0),
    ARRAY(SELECT author_id FROM timeline_authorpolicy WHERE pulled_since IS NOT NULL)
FROM timeline_sitepolicy
"""

_MODE = """
WITH own AS (SELECT mode FROM timeline_authorpolicy WHERE author_id = %s FOR SHARE),
    site AS (SELECT mode FROM timeline_sitepolicy FOR SHARE)
SELECT coalesce((SELECT mode FROM own), (SELECT mode FROM site), 'online')
"""

# A late announcement never lowers the version.
_ANNOUNCE = """
local known = tonumber(redis.call('GET', KEYS[1]) or '-1')
if known and known >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""


@dataclass(frozen=True, slots=True)
class PoliciesInForce:
    """The authors whose outboxes readers pull: all with `pulls_all`, otherwise `pulled`."""

    version: int = -1
    pulls_all: bool = False
    # part of the keys of home windows; grows when the site stops pulling, because old windows missed pushes
    generation: int = 0
    pulled: frozenset[int] = frozenset()

    def is_current(self, version: bytes | None) -> bool:
        """Whether these policies have the version that was read from `VERSION_KEY`."""
        return version is not None and version == str(self.version).encode()


@dataclass(slots=True)
class _Process:
    policies: PoliciesInForce


_process = _Process(PoliciesInForce())


def cached() -> PoliciesInForce:
    """The policies that this process loaded last; their version may be old."""
    return _process.policies


def generation() -> int:
    return _process.policies.generation


def clear_cache() -> None:
    _process.policies = PoliciesInForce()


def load() -> PoliciesInForce:
    """Load the policies from PostgreSQL, and announce their version unless a newer version has been announced."""
    with connection.cursor() as sql:
        sql.execute(_LOAD)
        version, pulls_all, generation, pulled = sql.fetchone() or (0, False, 0, [])
    _process.policies = PoliciesInForce(version, pulls_all, generation, frozenset(pulled))
    try:
        announce(version)
    except RedisError as error:
        logger.debug("version %s of the policies not announced: %s", version, error)
    return _process.policies


def refresh() -> PoliciesInForce:
    """The cached policies if their version is current, otherwise those in PostgreSQL."""
    try:
        version: Any = timelines().get(VERSION_KEY)
    except RedisError:
        version = None
    return _process.policies if _process.policies.is_current(version) else load()


def announce(version: int) -> None:
    """Announce a new version to all processes. Raises RedisError, because no switch may continue unannounced."""
    for client in written("timelines"):
        run_script(client, _ANNOUNCE, [VERSION_KEY], [version])


def mode_for(author_id: int, visibility: str) -> Mode:
    """The mode for a post, read in the transaction that records its delivery.

    The rows stay locked until that transaction commits, so a switch that ends a pull sees every post of the pull
    period.
    """
    if visibility not in OPEN:
        return Mode.ONLINE  # restricted posts go to inboxes under every policy
    with connection.cursor() as sql:
        sql.execute(_MODE, [author_id])
        return Mode(sql.fetchone()[0])
