"""The admin as a browser shows it: with its styles, on a desk and on a phone, with nothing that axe-core finds, and
nothing refused by the site's own policy.
"""

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from apps.moderation.actions import file_report
from apps.timeline.models import FanoutJob
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import delivered
from tests.support.staff import make_staff
from tools.vitals.look import AXE

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
def pages(author, reader):
    """Addresses of an index, lists, forms, a report, the console of the caches and a delivery with its chunks."""
    post = delivered(author, "A post whose delivery is looked at.")
    report = file_report(reader, author, comment="Look at this.", post_ids=[post.pk])
    return [
        "/admin/",
        "/admin/moderation/",
        "/admin/moderation/report/",
        f"/admin/moderation/report/{report.pk}/change/",
        "/admin/accounts/user/",
        f"/admin/accounts/user/{author.pk}/change/",
        "/admin/events/event/",
        "/admin/audit/auditrun/",
        "/admin/timeline/fanoutjob/",
        "/admin/promotions/campaign/",
        "/admin/promotions/campaign/add/",
        "/admin/promotions/segment/add/",
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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(pages, transactional_db, visit, theme):
    make_staff(superuser=True, handle="boss")
    with visit() as page:
        log_in(page, "boss")
        tab = page.context.new_page()  # axe-core's own styles are refused there, as they should be
        tab.emulate_media(color_scheme=theme)
        for address in pages:
            tab.goto(address)
            tab.evaluate(AXE_SCRIPT)
            assert tab.evaluate(AXE) == [], address


def test_titles_are_free_and_lists_fit(pages, transactional_db, visit):
    """No button lies on a title, and no list has to be scrolled sideways at 1280 pixels."""
    make_staff(superuser=True, handle="boss")
    with visit(width=1280) as page:
        log_in(page, "boss")
        for address in pages:
            page.goto(address)
            title = page.locator("#content h1").bounding_box()
            for button in page.locator(".object-tools a").all():
                assert button.bounding_box()["y"] >= title["y"] + title["height"], address
            hidden = "() => [...document.querySelectorAll('.results')].map(one => one.scrollWidth - one.clientWidth)"
            assert all(pixels <= 0 for pixels in page.evaluate(hidden)), address


def test_times_are_of_the_zone_of_the_browser(pages, transactional_db, visit):
    make_staff(superuser=True, handle="boss")
    with visit(zone="Asia/Shanghai") as page:
        log_in(page, "boss")
        page.goto("/admin/")
        page.goto("/admin/moderation/report/")
        assert "Time zone: Asia/Shanghai" in page.locator("#user-tools").inner_text()


def test_a_filter_is_a_menu_that_works(pages, transactional_db, visit):
    make_staff(superuser=True, handle="boss")
    with visit() as page:
        log_in(page, "boss")
        page.goto("/admin/moderation/report/")
        page.locator("#changelist-filter summary").first.click()
        page.get_by_role("link", name="Yes", exact=True).click()
        page.wait_for_url("**/?resolved=yes")
        assert "0 reports" in page.locator("#changelist").inner_text()
