"""Sites of the test's own."""

import pytest

from apps.previews.cache import LOCAL
from tests.previews.sites import PRIVATE, PUBLIC, Site, answer, article


@pytest.fixture(autouse=True)
def _switched_on(settings):
    """With nothing that a test before has met."""
    settings.LINK_PREVIEWS = True
    LOCAL.clear()


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
