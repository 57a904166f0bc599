"""Programs that ask for tokens."""

import pytest

from apps.oauth.actions import register_application


@pytest.fixture
def program(db):
    """A program that registered itself for everything."""
    return register_application(
        name="Elephant",
        redirect_uris=["urn:ietf:wg:oauth:2.0:oob", "https://elephant.example/back"],
        scopes="read write follow push",
        website="https://elephant.example",
    )
