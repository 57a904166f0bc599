"""What a page says of itself, as readers see it."""

import json
from datetime import UTC, datetime

import pytest

from apps.previews.fetching import Answer, Refused
from apps.previews.linked_page import page_at, picture_of, text_of
from apps.previews.metadata import facts
from tests.previews.sites import answer, redirect
from tests.support.pictures import picture


def made(site, html, *, content_type="text/html; charset=utf-8", path="/page"):
    site.pages[path] = answer(html, content_type)
    address = f"http://news.example:{site.port}{path}"
    return page_at(address, take_turn=lambda _host: None, network=site.network())


def test_everything_that_a_page_says(site):
    page = page_at(
        f"http://news.example:{site.port}/tea", take_turn=lambda _host: None, network=site.network()
    )
    assert (page.title, page.description) == ("Tea at the river", "Fog, two herons.")
    assert (page.site_name, page.author_name) == ("River News", "Mei Lin")
    assert page.published_at == datetime(2026, 11, 20, 8, tzinfo=UTC)
    assert page.picture_url == f"http://news.example:{site.port}/picture.png"
    assert page.picture_alt == "A boat."


@pytest.mark.parametrize(
    ("head", "title", "description"),
    [
        ("<title>Plain</title><meta name=description content=Words>", "Plain", "Words"),
        ('<meta name="twitter:title" content="Short"><title>Plain</title>', "Short", ""),
        ('<meta property="og:title" content=""><title>Plain</title>', "Plain", ""),
        ("<title>One</title><title>Two</title>", "One", ""),
        ("<title>A &amp; B &lt;i&gt;</title>", "A & B <i>", ""),
        ("<TITLE>Capitals</TITLE><META NAME=Description CONTENT=Words>", "Capitals", "Words"),
    ],
)
def test_the_first_of_several_names(head, title, description):
    said = json.loads(facts(head.encode()))
    assert (said["title"], said["description"]) == (title, description)


def test_texts_are_on_one_line_and_hide_nothing(site):
    page = made(
        site,
        "<title>evil\u202egnp.exe\u2066\n\n  next\u200b line \x00</title>"
        f'<meta name="description" content="{"x" * 5000}">',
    )
    assert page.title == "evilgnp.exe next line"
    assert page.description == "x" * 300


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("2026-11-20T08:00:00", datetime(2026, 11, 20, 8, tzinfo=UTC)),
        ("2026-11-20T08:00:00+08:00", datetime(2026, 11, 20, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("yesterday", None),
    ],
)
def test_when_a_page_was_published(site, said, moment):
    head = f'<title>a</title><meta property="article:published_time" content="{said}">'
    assert made(site, head).published_at == moment


@pytest.mark.parametrize("html", ["", "<p>No head.</p>", "<title> \u200b </title>", "\x00\x01"])
def test_a_page_without_a_title(site, html):
    with pytest.raises(Refused, match="without a title"):
        made(site, html)


@pytest.mark.parametrize(
    ("head", "content_type", "encoding"),
    [
        ("", "text/html; charset=GBK", "gbk"),
        ('<meta charset="gb2312">', "text/html", "gb18030"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=big5">', "text/html", "big5"),
        ("", "text/html; charset=utf-8", "utf-8-sig"),
        ("", "text/html; charset=wonders", "utf-8"),
        ("", "text/html; charset=punycode", "utf-8"),
        ("", "text/html", "utf-8"),
    ],
)
def test_encodings(head, content_type, encoding):
    body = f"{head}<title>茶</title>".encode(encoding)
    assert text_of(Answer("", content_type, body)).endswith("<title>茶</title>")


@pytest.mark.slow
def test_a_page_shows_no_address_of_others(site):
    other = made(site, '<title>a</title><link rel="canonical" href="https://bank.example/">')
    assert other.url == f"http://news.example:{site.port}/page"
    own = made(site, '<title>a</title><link rel="canonical" href="/article">')
    assert own.url == f"http://news.example:{site.port}/article"


def test_a_page_that_keeps_its_parser_busy_is_given_up(site, monkeypatch):
    monkeypatch.setattr("apps.media.sandbox.TIMEOUT_SECONDS", 0.01)
    with pytest.raises(Refused, match="cannot be read"):
        made(site, "<title>a</title>")


def picture_at(site, **pages):
    site.pages.update({f"/{name}": page for name, page in pages.items()})
    page = made(site, '<title>a</title><meta property="og:image" content="/picture">')
    return picture_of(page, take_turn=lambda _host: None, network=site.network())


@pytest.mark.slow
def test_a_picture_is_re_encoded_and_small(site):
    found = picture_at(site, picture=answer(picture((1300, 650), "JPEG"), "image/jpeg"))
    assert (found.width, found.height) == (640, 320)
    assert found.data[8:12] == b"WEBP"
    assert found.blurhash


@pytest.mark.long
def test_a_page_is_shown_without_a_picture_that_is_none(site):
    assert picture_at(site, picture=answer("<svg/>", "image/svg+xml")) is None
    assert picture_at(site, picture=answer(b"not a picture", "image/png")) is None
    assert picture_at(site, picture=answer("", status=404)) is None
    assert picture_at(site, picture=answer(b"x" * (5 * 1024 * 1024 + 1), "image/png")) is None


def test_a_picture_in_the_private_network_is_not_fetched(site, secret):
    secret.pages["/"] = answer(picture(), "image/png")
    page = made(
        site,
        f'<title>a</title><meta property="og:image" content="http://router.example:{site.port}/">',
    )
    site.pages["/go"] = redirect(f"http://router.example:{site.port}/")
    network = site.network(router_example=["127.0.0.2"])
    assert picture_of(page, take_turn=lambda _host: None, network=network) is None
    assert secret.asked == []
