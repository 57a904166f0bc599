"""Expects refusals by their error codes; the messages are for people and may be reworded at any time."""

import pytest

from apps.errors import DomainError


def refused(code: str) -> pytest.RaisesExc[DomainError]:
    """`with refused("not_ready"):` expects a domain error with this code."""
    return pytest.raises(DomainError, check=lambda error: error.code == code)
