"""Every page for everybody: it answers, speaks both languages, and shows nothing of its making."""

import re
from itertools import product

import pytest
from django.test import Client
from django.utils.translation import activate

from apps.engagement.actions import bookmark_post
from tests.support.factories import deliver, publish, repost

FOR_ALL = [
    "/", "/public", "/local", "/@alice", "/@alice/with_replies", "/@alice/followers", "/@alice/following",
    "/@alice/{post}", "/@alice/media", "/@alice/{post}/history", "/@alice/{post}/likes", "/@alice/{post}/reposts",
    "/@alice/{post}/quotes", "/@alice/{post}/embed", "/about/shortcuts", "/about", "/login", "/join", "/password/reset",
]  # fmt: skip
FOR_MEMBERS = [
    "/home", "/compose", "/compose?reply_to={post}", "/compose?quote={post}", "/notifications",
    "/notifications/mentions", "/bookmarks", "/settings", "/settings/profile", "/settings/account",
    "/settings/appearance",
    "/settings/circles",
    "/settings/writing", "/likes", "/scheduled", "/drafts", "/conversations",
    "/password/change", "/@alice/block",
]  # fmt: skip
MACHINERY = re.compile(r"\{\{|\{%|\bNone\b|style=|onclick=|javascript:")


@pytest.fixture
def post(alice, bob):
    """A post that everything happened to."""
    post = publish(alice, "Hello @bob, see https://example.org/ #tag", content_warning="w")
    publish(bob, "An answer.", reply_to_id=post.pk)
    publish(bob, "A quote.", quote_of_id=post.pk)
    repost(bob, post.pk)
    bookmark_post(bob, post.pk)
    deliver()
    return post


@pytest.mark.long
@pytest.mark.parametrize("who", [None, "alice", "bob"])
def test_page(post, alice, bob, page_of, who, subtests):
    browser = page_of({"alice": alice, "bob": bob}.get(who))
    for address, language in product(FOR_ALL + FOR_MEMBERS, ["en", "zh-hans"]):
        browser.cookies["lang"] = language
        with subtests.test(address=address, language=language):
            response = browser.get(address.format(post=post.pk))
            check(response, who, address, language)


def check(response, who, address, language):
    if who is None and address in FOR_MEMBERS:
        assert response.status_code == 302
        assert response["Location"].startswith("/login?next=")
        return
    if who and address in {"/login", "/join"}:
        assert response.status_code == 302
        return
    assert response.status_code == 200
    assert response["Content-Language"] == language
    assert not MACHINERY.findall(response.text)
    assert response.text.count("<h1") == 1


@pytest.mark.slow
def test_ids_are_unique(post, alice, page_of, subtests):
    browser = page_of(alice)
    for address in ("/", "/public", "/@alice", "/about", "/login", "/settings/profile"):
        with subtests.test(address=address):
            text = browser.get(address, follow=True).text
            drawn = re.sub(r"<template.*?</template>", "", text, flags=re.DOTALL)
            ids = re.findall(r'\sid="([^"]+)"', drawn)
            assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("/robots.txt", "text/plain; charset=utf-8"),
        ("/manifest.webmanifest", "application/manifest+json"),
        ("/favicon.svg", "image/svg+xml"),
    ],
)
def test_files(db, address, kind):
    response = Client().get(address)
    assert (response.status_code, response["Content-Type"]) == (200, kind)


def test_password_managers_find_the_form(db):
    assert Client().get("/.well-known/change-password")["Location"] == "/password/change"


def test_no_error_page_needs_the_database(client):
    # without the db mark, any query would fail this test
    response = client.get("/no/such/page")
    assert response.status_code == 404
    assert "This page isn" in response.text


def test_the_page_of_a_failure_needs_neither_user_nor_database():
    activate("en")
    browser = Client(raise_request_exception=False)
    browser.cookies["sessionid"] = "of a member"
    browser.cookies["theme"] = "dark"
    response = browser.get("/")
    assert response.status_code == 500
    assert "Something went wrong on our side." in response.text
    assert 'data-theme="dark"' in response.text
    assert response["X-Request-Id"] in response.text


def test_a_slash_too_many_is_taken_away(db):
    response = Client().get("/about/")
    assert (response.status_code, response["Location"]) == (301, "/about")


def test_wrong_methods_are_refused(alice, page_of):
    browser = page_of(alice)
    for address in ("/", "/public", "/about", "/@alice"):
        response = browser.post(address)
        assert response.status_code == 405
        assert "GET" in response["Allow"]
        assert "This address does not accept this kind of request." in response.text
    for address in ("/posts", "/logout", "/appearance", "/settings/tokens"):
        assert browser.get(address).status_code == 405
