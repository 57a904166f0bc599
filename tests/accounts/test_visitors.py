"""Where a request comes from, and where it leads back to."""

import pytest
from django.test import RequestFactory

from apps.http.requests import client_address, return_url
from tests.support.cases import each


def _address(settings, *, hops, peer="203.0.113.9", chain=None):
    settings.TRUSTED_PROXY_HOPS = hops
    headers = {"X-Forwarded-For": chain} if chain else {}
    return client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=peer))


def test_without_proxies_the_header_is_not_believed(settings):
    assert _address(settings, hops=0, chain="198.51.100.1") == "203.0.113.9"


@each(("hops", "address"), [(1, "198.51.100.2"), (2, "198.51.100.1"), (3, "203.0.113.9")])
def test_each_trusted_proxy_reads_one_further(settings, hops, address):
    assert _address(settings, hops=hops, chain="198.51.100.1, 198.51.100.2") == address


def test_of_ipv6_it_is_the_network(settings):
    assert _address(settings, hops=0, peer="2001:db8:1:2:3::4") == "2001:db8:1:2::/64"


def test_an_ipv4_address_in_ipv6_is_that_address(settings):
    assert _address(settings, hops=0, peer="::ffff:203.0.113.9") == "203.0.113.9"


def test_nonsense_from_a_proxy_is_the_proxy(settings):
    assert _address(settings, hops=1, chain="unknown") == "203.0.113.9"


HERE = "http://testserver"


@pytest.mark.parametrize(
    ("query", "referer", "address"),
    [
        ("", "", "/@alice"),
        ("", f"{HERE}/public?max_id=7#p8", "/public?max_id=7"),
        ("next=/home", f"{HERE}/public", "/home"),
        ("next=https://evil.example/", f"{HERE}/public", "/public"),
        ("", "https://evil.example/public", "/@alice"),
        ("", f"{HERE}//evil.example/", "/@alice"),
        ("", f"{HERE}/\\evil.example/", "/@alice"),
        ("", f"{HERE}/@alice/block", "/@alice"),  # the page that asks is no page to lead back to
        ("", HERE, "/@alice"),
        ("", "nonsense", "/@alice"),
    ],
)
def test_a_page_that_asks_leads_back_to_where_it_was_opened(query, referer, address):
    request = RequestFactory().get(f"/@alice/block?{query}", headers={"Referer": referer})
    assert return_url(request, "/@alice") == address
