"""A newcomer does everything once, with scripts and without."""

import pytest
from playwright.sync_api import FilePayload

from tests.support.factories import make_user, publish
from tests.support.pictures import picture
from tests.support.processes import start_worker, stop
from tools.vitals.browser import MISSING, PROGRAM, chromium, window
from tools.vitals.newcomer import Newcomer, walk

FILE = FilePayload(name="wall.png", mimeType="image/png", buffer=picture((600, 400)))

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason=MISSING),
    pytest.mark.browser,
]


@pytest.fixture
def friend(site, tmp_path):
    """Somebody who has written, on a site with a worker."""
    author = make_user("author", display_name="The Author")
    for number in range(3):
        publish(author, f"Number {number}.")
    worker = start_worker(tmp_path)
    yield author
    stop(worker)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_newcomers_first_day(friend, site, scripts):
    with chromium() as browser:
        tab = window(browser, site, scripts=scripts).new_page()
        assert walk(Newcomer(tab, "newcomer", FILE, scripts)) == []
