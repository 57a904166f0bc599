"""The admin as a browser shows it: with its styles, on a desk and on a phone,
and nothing refused by the site's own policy.
"""

import pytest

from apps.timeline.models import FanoutJob
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import delivered
from tests.support.staff import make_staff

pytestmark = [*needs_browser, pytest.mark.flows]

# The header's ground, the letters of a page, the room around: of the skin, and of the sheets below it.
LOOKS = """() => {
  const style = (selector) => getComputedStyle(document.querySelector(selector));
  return {
    header: style("#header").backgroundColor,
    font: style("body").fontFamily,
    links: style("#user-tools a").textTransform,
    module: style("#content").paddingLeft,
    wide: document.documentElement.scrollWidth - innerWidth,
  };
}"""
HEADER = "rgb(255, 255, 255)"  # the surface of the site


@pytest.fixture
def pages(author):
    """Addresses of an index, a list, a form, the console of the caches and a delivery with its chunks."""
    delivered(author, "A post whose delivery is looked at.")
    return [
        "/admin/",
        "/admin/posts/post/",
        "/admin/notifications/announcement/add/",
        "/admin/operations/cachenode/",
        "/admin/operations/cachenode/service-level/",
        "/admin/operations/cachenode/redis/",
        f"/admin/timeline/fanoutjob/{FanoutJob.objects.get().pk}/change/",
    ]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_admin_has_its_styles(pages, transactional_db, visit, width):
    make_staff(superuser=True, handle="boss")
    with visit(width=width) as page:
        log_in(page, "boss")
        for address in pages:
            assert page.goto(address).status == 200, address
            looks = page.evaluate(LOOKS)
            assert looks["header"] == HEADER, address
            assert "Times" not in looks["font"], address
            assert "Segoe UI" in looks["font"], address
            assert looks["links"] == "none", address
            assert looks["module"] != "0px", address
            assert looks["wide"] <= 0, f"{address} is {looks['wide']} pixels too wide"
