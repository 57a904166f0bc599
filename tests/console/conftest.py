"""The Memcached nodes of `tests/operations`."""

from tests.operations.conftest import settled, spare

__all__ = ["settled", "spare"]
