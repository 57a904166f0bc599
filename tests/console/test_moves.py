"""Moving classes of data between Redis servers by the pages of the admin."""

import pytest

from apps.operations import actions
from apps.operations.models import TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache.topology import Tenant
from tests.operations.test_moves import CHIEF, _empty, one, other, settle, tenant
from tests.support.staff import browser_of, make_staff

__all__ = ["_empty", "one", "other"]  # fixtures
pytestmark = pytest.mark.django_db
PAGE = "/admin/operations/cachenode/redis/"
CHANGE = "/admin/operations/cachenode/change/"


def text_of(response):
    return " ".join(response.content.decode().split())


def change(browser, which, **fields):
    data = {"seen": topology_in_force().version, "confirmed": "yes", **fields}
    return text_of(browser.post(f"{CHANGE}{which}/", data, follow=True))


@pytest.mark.slow
def test_the_page_moves_by_its_links(chief, one, other):
    page = text_of(chief.get(PAGE))
    assert page.count(">Move to another server</a>") == 4
    fields = {"name": "timelines", "address": other.url}
    page = text_of(chief.post(f"{CHANGE}move/", {"seen": 0, **fields}))
    assert f"Write “timelines” to {other.url}, too?" in page
    assert f'href="{PAGE}"' in page
    change(chief, "move", **fields)
    page = text_of(chief.get(PAGE))
    assert other.url in page
    assert f"{CHANGE}switch/?name=timelines" in page
    assert page.count(">Move to another server</a>") == 3
    assert 'class="error"' in change(chief, "switch", name="timelines")
    settle(one)
    change(chief, "switch", name="timelines")
    assert f"{CHANGE}leave/?name=timelines" in text_of(chief.get(PAGE))
    settle(one)
    change(chief, "leave", name="timelines")
    assert tenant() == Tenant(other.url)
    assert "errorlist" in change(chief, "switch", name="timelines")
    page = change(chief, "move", name="timelines", address="settings")
    assert tenant() == Tenant(other.url, also=""), page


def test_a_page_that_may_not_move_offers_nothing(other):
    viewer = browser_of(make_staff("operations.view_cachenode"))
    assert ">Move to another server</a>" not in text_of(viewer.get(PAGE))
    for which in ("move", "switch", "leave"):
        assert viewer.get(f"{CHANGE}{which}/").status_code == 403
    fields = {"seen": 0, "confirmed": "yes", "name": "graph", "address": other.url}
    assert viewer.post(f"{CHANGE}move/", fields).status_code == 403
    assert not TopologyVersion.objects.exists()


def test_the_page_in_chinese(chief, other):
    chief.cookies["lang"] = "zh-hans"
    actions.join_server("graph", other.url, by=CHIEF)
    text = text_of(chief.get(PAGE))
    assert f"正在移动：同时写入 {other.url}" in text
