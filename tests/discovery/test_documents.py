"""Sitemaps, robots, and the small documents at agreed addresses."""

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from django.test import Client

from apps.accounts.actions import update_profile
from apps.moderation.actions import limit_user
from apps.web.discovery import sitemaps
from tests.support.factories import make_user, moderator, publish, suspend

pytestmark = pytest.mark.django_db
NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def locations(address):
    answer = Client().get(address)
    assert answer.headers["Content-Type"] == "application/xml"
    return [one.text for one in ElementTree.fromstring(answer.content).iter(f"{NS}loc")]


def walked(site_url):
    """All addresses of all files of the index."""
    files = [address.removeprefix(site_url) for address in locations("/sitemap.xml")]
    return [where for file in files for where in locations(file)]


def test_the_index_leads_to_accounts_posts_and_pages_that_may_be_found(alice, bob, carol, settings):
    post = publish(alice, "public")
    for visibility in ("unlisted", "followers", "mentioned"):
        publish(alice, f"{visibility} @bob", visibility=visibility)
    publish(bob, "mine")
    update_profile(bob, is_indexable=False)
    publish(carol, "hers")
    suspend(carol)
    dora = make_user("dora")
    publish(dora, "theirs")
    limit_user(dora, by=moderator())
    found = walked(settings.SITE_URL)
    assert f"{settings.SITE_URL}/@alice" in found
    assert f"{settings.SITE_URL}/privacy" in found
    posts = [one for one in found if one.rpartition("/")[2].isdigit()]
    assert posts == [f"{settings.SITE_URL}/@alice/{post.pk}"]
    assert not [one for one in found if any(name in one for name in ("bob", "carol", "dora"))]
    for one in found:
        assert Client().get(one.removeprefix(settings.SITE_URL)).status_code == 200


def test_a_file_is_a_range_and_costs_one_query(alice, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(sitemaps, "ACCOUNTS_PER_FILE", 1)
    others = [make_user() for _ in range(3)]
    with django_assert_num_queries(1):
        assert len(locations(f"/sitemap-people-{others[1].pk}.xml")) == 1
    today = datetime.now(UTC).date()
    publish(alice)
    with django_assert_num_queries(1):
        assert len(locations(f"/sitemap-posts-{today}.xml")) == 1


def test_one_address_asks_for_so_many_files(alice, settings):
    """Each is up to 50,000 lines, and no page of a site is as dear."""
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "sitemap": (2, 300)}
    today = datetime.now(UTC).date()
    files = [f"/sitemap-posts-{today}.xml", "/sitemap-people-0.xml", f"/sitemap-posts-{today}.xml"]
    answers = [Client().get(file) for file in files]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["Retry-After"]
    assert Client().get("/sitemap.xml").status_code == 200
    assert Client().get(files[0], REMOTE_ADDR="203.0.113.7").status_code == 200


@pytest.mark.parametrize("day", ["x", "2026-13-01", "0001-01-01", "9999-12-31", "2014-12-31", "2026-1-1e9",
                                 "٢٠٢٦-٠١-٠١"])  # fmt: skip
def test_days_that_cannot_be_are_404(day):
    assert Client().get(f"/sitemap-posts-{day}.xml").status_code == 404


def test_numbers_that_cannot_be_are_empty():
    assert locations(f"/sitemap-people-{9 * 10**17}.xml") == []


def test_robots_name_the_sitemap(settings):
    text = Client().get("/robots.txt").content.decode()
    assert text.endswith(f"Sitemap: {settings.SITE_URL}/sitemap.xml\n")
    assert "Disallow: /settings/" in text


def webfinger(resource, **headers):
    return Client().get("/.well-known/webfinger", {"resource": resource}, headers=headers)


def test_webfinger_knows_accounts_of_this_host(alice, settings):
    host = settings.SITE_URL.removeprefix("http://")
    for resource in (f"acct:alice@{host}", f"acct:@Alice@{host.upper()}", f"{settings.SITE_URL}/@alice"):  # fmt: skip
        answer = webfinger(resource, Origin="https://other.example")
        assert answer.headers["Content-Type"] == "application/jrd+json"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.json()["subject"] == f"acct:alice@{host}"
        assert answer.json()["links"][0]["href"] == f"{settings.SITE_URL}/@alice"


def test_webfinger_knows_nobody_else(alice, settings):
    host = settings.SITE_URL.removeprefix("http://")
    for resource in (
        "acct:alice@example.org",
        f"acct:nobody@{host}",
        "https://example.org/@alice",
        "alice",
    ):
        assert webfinger(resource).status_code == 404
    assert webfinger("").status_code == 400
    assert webfinger("a" * 501).status_code == 400
    suspend(alice)
    assert webfinger(f"acct:alice@{host}").status_code == 404


def test_documents_for_programs_are_well_formed(settings):
    host_meta = ElementTree.fromstring(Client().get("/.well-known/host-meta").content)
    assert f"{settings.SITE_URL}/.well-known/webfinger" in str(host_meta[0].get("template"))
    search = ElementTree.fromstring(Client().get("/opensearch.xml").content)
    assert search[-1].get("template") == f"{settings.SITE_URL}/search?q={{searchTerms}}"


def test_security_txt_says_whom_to_tell_and_does_not_run_out(settings):
    settings.SECURITY_CONTACT = "mailto:security@example.org"
    lines = Client().get("/.well-known/security.txt").content.decode().splitlines()
    assert lines[0] == "Contact: mailto:security@example.org"
    expires = datetime.fromisoformat(lines[1].removeprefix("Expires: "))
    assert expires > datetime.now(UTC)
