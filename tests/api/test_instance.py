"""What the site says of itself."""

import pytest

from apps.posts import queries
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept():
    queries.SIZES.clear()


def test_older_clients_find_where_they_are(client, settings, alice):
    settings.SITE_URL = "https://rill.example"
    settings.STREAMING_URL = "https://streams.rill.example"
    publish(alice)
    body = client.get("/api/v1/instance/").json()
    assert body["uri"] == "rill.example"
    assert body["version"].startswith("4.6.0 ")
    assert body["urls"]["streaming_api"] == "wss://streams.rill.example"
    assert body["stats"] == {"user_count": 1, "status_count": 1, "domain_count": 1}


def test_newer_clients_find_the_limits(client, settings):
    settings.POST_MAX_CHARACTERS = 321
    body = client.get("/api/v2/instance").json()
    assert body["configuration"]["statuses"]["max_characters"] == 321
    assert body["api_versions"] == {"mastodon": 10}
    assert body["thumbnail"]["url"].startswith("http")


def test_large_tables_are_estimated(client, monkeypatch, django_assert_num_queries):
    make_user()
    monkeypatch.setattr(queries, "MAX_COUNTED", -1)
    with django_assert_num_queries(2):
        assert client.get("/api/v1/instance").json()["stats"]["user_count"] >= -1
    with django_assert_num_queries(0):
        client.get("/api/v1/instance")


def test_directories_find_what_software_this_is(client):
    (link,) = client.get("/.well-known/nodeinfo").json()["links"]
    body = client.get(link["href"].partition("8000")[2] or "/nodeinfo/2.0").json()
    assert (body["software"]["name"], body["protocols"], body["openRegistrations"]) == (
        "feedsite",
        [],
        True,
    )


def test_there_are_no_emojis_of_our_own(client):
    assert client.get("/api/v1/custom_emojis").json() == []


def test_people_read_the_same(client, settings, alice):
    settings.DEFAULT_FROM_EMAIL = "people@rill.example"
    publish(alice)
    page = client.get("/about").text
    assert "1 accounts, 1 posts." in page
    assert f"feedsite {settings.VERSION}" in page
    assert 'href="mailto:people@rill.example"' in page
    assert "Be civil." in page
