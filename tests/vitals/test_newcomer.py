"""A newcomer does everything once, with scripts and without."""

import pytest

from tests.factories import deliver, make_user, publish
from tests.posts.test_uploads import picture
from vitals.browser import MISSING, PROGRAM, chromium, window
from vitals.newcomer import Newcomer, walk

FILE = {"name": "wall.png", "mimeType": "image/png", "buffer": picture((600, 400))}

pytestmark = [pytest.mark.browser, pytest.mark.skipif(PROGRAM is None, reason=MISSING)]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_newcomers_first_day(site, scripts):
    author = make_user("author", display_name="The Author")
    for number in range(3):
        publish(author, f"Number {number}.")
    deliver()
    with chromium() as browser:
        tab = window(browser, site, scripts=scripts).new_page()
        assert walk(Newcomer(tab, "newcomer", FILE, scripts, settle=deliver)) == []
