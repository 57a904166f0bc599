"""Readers of a delivery."""

from tests.timeline.fanout.conftest import readers

__all__ = ["readers"]
