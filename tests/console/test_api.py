"""The cache topology by the API."""

import pytest

from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db

ADDRESS = "/api/x/topology"


def test_staff_see_every_node_and_how_it_is(api_of):
    found = api_of(make_staff("operations.view_topologyversion")).get(ADDRESS).json()
    assert found["nodes"]
    assert {"main 0", "main 1"} <= {node["place"] for node in found["nodes"]}
    assert {node["error"] for node in found["nodes"]} == {""}
    assert found["version"] >= 0


def test_nobody_else_sees_it(alice, api_of):
    assert api_of(alice).get(ADDRESS).status_code == 403
    assert api_of(make_staff("accounts.view_user")).get(ADDRESS).status_code == 403
