"""Programs in browsers: any site may ask the API, no site may ask the pages."""

import pytest

from tests.support.cases import each
from tests.support.factories import publish

pytestmark = pytest.mark.django_db
FROM = {"Origin": "https://elephant.example"}
ALLOWED = "Access-Control-Allow-Origin"


@each(
    "path", ["/api/v1/timelines/home", "/api/v2/instance", "/oauth/token", "/oauth/revoke", "/oauth/userinfo",
             "/.well-known/nodeinfo", "/nodeinfo/2.0"]
)  # fmt: skip
def test_browsers_may_ask_with_a_token(client, path):
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,idempotency-key",
    }
    answer = client.options(path, headers={**FROM, **asked})
    assert answer.status_code == 200
    assert answer.headers[ALLOWED] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers
    allowed = answer.headers["Access-Control-Allow-Headers"].split(", ")
    assert {"authorization", "content-type", "idempotency-key"} <= set(allowed)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        assert method in answer.headers["Access-Control-Allow-Methods"]


def test_pages_of_a_list_are_seen_through(alice, api_of):
    publish(alice)
    answer = api_of(alice).get("/api/v1/timelines/home?limit=1", headers=FROM)
    assert answer.headers[ALLOWED] == "*"
    assert "Link" in answer.headers["Access-Control-Expose-Headers"]


def test_refusals_can_be_read(client):
    assert client.get("/api/v1/timelines/home", headers=FROM).headers[ALLOWED] == "*"
    assert client.get("/api/v1/nothing", headers=FROM).headers[ALLOWED] == "*"


@each("path", ["/", "/login", "/oauth/authorize?client_id=x", "/settings/applications", "/admin/",
                                  "/apix", "/oauth/tokens"])  # fmt: skip
def test_pages_are_nobody_elses(client, path):
    assert ALLOWED not in client.get(path, headers=FROM).headers
    assert ALLOWED not in client.options(path, headers=FROM).headers
