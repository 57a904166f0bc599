"""Sites of the test's own."""

import pytest

from tests.previews.sites import PRIVATE, PUBLIC, Site, answer, article


@pytest.fixture
def site():
    """A public site with an article."""
    with Site(PUBLIC, pages=article()).running() as running:
        yield running


@pytest.fixture
def secret(site):
    """A site in the private network, at the same port."""
    pages = {"/": answer("<title>The router's password</title>")}
    with Site(PRIVATE, site.port, pages).running() as running:
        yield running
