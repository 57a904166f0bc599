"""The addresses and options of the cache servers. Configure them once per process, before any other call:

configure(Settings(redis_url="redis://127.0.0.1:6379/0", topology=configured(["127.0.0.1:11211"])))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from feedcache.topology import Topology


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The addresses of the servers (see `redis_clients` for their format) and options.

    `redis_url` is the server for all data in Redis that has no separate address. `topology` contains the Memcached
    nodes that are used until staff change them; with `follows_topology` the process adopts such changes while it runs.
    `key_prefix` must differ between sites that share a Memcached, or the Redis for broadcasts. With `refills_all_l1`,
    loaded values are stored in every L1 group, not only in the group that was read.
    """

    redis_url: str
    graph_url: str = ""
    graph_replica_urls: Sequence[str] = ()
    timelines_replica_urls: Sequence[str] = ()
    counters_url: str = ""
    existence_url: str = ""
    limits_url: str = ""
    cache_url: str = ""
    broadcasts_url: str = ""
    redis_timeout_seconds: float = 0.5
    redis_tls_files: Mapping[str, str] = field(default_factory=dict)
    topology: Topology = field(default_factory=Topology)
    memcached_timeout_seconds: float = 0.05
    # if the timeout above is larger, it also applies to writes
    memcached_write_timeout_seconds: float = 0.5
    follows_topology: bool = False
    key_prefix: str = ""
    refills_all_l1: bool = False


_current: list[Settings] = []


def configure(settings: Settings) -> None:
    """Set the settings of this process. Existing clients keep their addresses until `connections.forget_clients`."""
    _current[:] = [settings]


def current_settings() -> Settings:
    """The settings of this process. Raises RuntimeError if `configure` has not been called."""
    if not _current:
        raise RuntimeError("feedcache has no settings yet: call feedcache.settings.configure")
    return _current[0]
