"""Which class of interfaces a request is of."""

import pytest
from django.test import RequestFactory

from apps.http.interfaces import CORE, REST, class_of
from tests.security.surfaces import routes


def test_the_table_names_routes_that_exist():
    there = routes()
    assert set(CORE) - there == set()
    without = [start for start in REST if not any(route.startswith(start) for route in there)]
    assert without == ["admin/"], "the routes of the admin are Django's own"


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("get", "/", "core"),
        ("head", "/home", "core"),
        ("get", "/@alice", "core"),
        ("get", "/@alice/123", "core"),
        ("get", "/notifications", "core"),
        ("get", "/media/avatars/1.webp", "core"),
        ("get", "/api/v1/timelines/home", "core"),
        ("get", "/api/v1/statuses/1/context", "core"),
        ("get", "/api/v2/notifications", "core"),
        ("post", "/posts", "writes"),
        ("post", "/api/v1/statuses", "writes"),
        ("delete", "/api/v1/statuses/1", "writes"),
        ("post", "/@alice/follow", "writes"),
        ("post", "/login", "writes"),
        ("get", "/search", "rest"),
        ("get", "/explore", "rest"),
        ("get", "/@alice.rss", "rest"),
        ("get", "/api/v2/search", "rest"),
        ("get", "/api/v1/trends/tags", "rest"),
        ("get", "/settings/profile", "rest"),
        ("get", "/admin/", "rest"),
        ("post", "/admin/posts/post/", "rest"),
        ("post", "/settings/export", "rest"),
        ("post", "/settings/import", "rest"),
        ("post", "/api/v1/apps", "rest"),
        ("get", "/no/such/page", "rest"),
        ("post", "/no/such/page", "rest"),
        ("get", "/home/", "core"),
        ("post", "/api/v1/statuses/", "writes"),
    ],
)
def test_the_class_of_a_request(method, path, name):
    assert class_of(getattr(RequestFactory(), method)(path)) == name
