"""How other pages embed a public post."""

import pytest
from django.test import Client

from apps.graph.actions import block_user
from tests.support.factories import publish

pytestmark = pytest.mark.django_db


def ask(url, **more):
    return Client().get("/oembed", {"url": url, **more})


def test_a_page_names_it_and_it_gives_a_frame(alice, page_of, settings):
    post = publish(alice, "Hello.")
    page = page_of(None).get(f"/@alice/{post.pk}").text
    address = page.split('type="application/json+oembed"')[1].split('href="')[1].split('"')[0]
    answer = Client().get(address.removeprefix(settings.SITE_URL))
    assert answer["Access-Control-Allow-Origin"] == "*"
    body = answer.json()
    assert (body["type"], body["version"], body["width"], body["height"]) == (
        "rich",
        "1.0",
        540,
        400,
    )
    assert body["author_url"] == f"{settings.SITE_URL}/@alice"
    assert f'src="{settings.SITE_URL}/@alice/{post.pk}/embed"' in body["html"]
    assert Client().get(f"/@alice/{post.pk}/embed").status_code == 200


def test_names_cannot_break_out_of_the_frame(alice, settings):
    alice.display_name = '"><script>alert(1)</script>'
    alice.save()
    post = publish(alice)
    html = ask(f"{settings.SITE_URL}/@alice/{post.pk}").json()["html"]
    assert "<script" not in html
    assert html.count(">") == 2


def test_it_fits_into_what_was_asked_for(alice, settings):
    url = f"{settings.SITE_URL}/@alice/{publish(alice).pk}"
    for asked, given in (("300", 300), ("9999999", 540), ("1", 200), ("0", 200)):
        assert ask(url, maxwidth=asked).json()["width"] == given
        assert ask(url, maxheight=asked).json()["height"] == min(given, 400)


def test_a_size_that_is_none(alice, settings):
    url = f"{settings.SITE_URL}/@alice/{publish(alice).pk}"
    for size in ("x", "-1", "1.5", "٣"):
        assert ask(url, maxwidth=size).status_code == 400, size


def test_only_public_posts(alice, bob, settings):
    for visibility in ("unlisted", "followers", "mentioned"):
        post = publish(alice, "@bob hello", visibility=visibility)
        asked = f"{settings.SITE_URL}/@alice/{post.pk}"
        assert ask(asked).status_code == 404, visibility


def test_what_is_no_address_of_a_post_here(alice, bob, settings):
    post, site = publish(alice), settings.SITE_URL
    assert ask("").status_code == 400
    assert ask("x" * 501).status_code == 400
    for url in (
        f"https://elsewhere.example/@alice/{post.pk}", f"{site}/@bob/{post.pk}", f"{site}/@alice",
        f"{site}/@alice/{post.pk}x",
        f"{site}/@alice/{'9' * 19}", f"{site}/@alice/0", f"{site}/@alice/{post.pk}?a=1", f"/@alice/{post.pk}",
    ):  # fmt: skip
        assert ask(url).status_code == 404, url
    block_user(alice, bob)  # visitors see it all the same
    assert ask(f"{site}/@alice/{post.pk}").status_code == 200


def test_json_is_all_there_is(alice, settings):
    url = f"{settings.SITE_URL}/@alice/{publish(alice).pk}"
    assert ask(url, format="xml").status_code == 501
    assert Client().post("/oembed", {"url": url}).status_code == 405
