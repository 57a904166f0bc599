"""The Memcached nodes of `tests/operations`, and the three layers of `tests/feedcache`."""

from tests.feedcache.conftest import servers, three
from tests.operations.conftest import settled, spare

__all__ = ["servers", "settled", "spare", "three"]
