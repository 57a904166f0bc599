"""A collection of alice with bob in it."""

import pytest

from apps.curation.actions import create_collection


@pytest.fixture
def collection(alice, bob):
    return create_collection(alice, [bob.pk], name="Good people")
