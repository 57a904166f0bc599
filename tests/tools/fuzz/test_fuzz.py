"""The parts of the fuzzer that judge: what is a failure, how it is asked again, what stands in a form."""

import random
import shlex

import pytest

from tools.fuzz.api import changed
from tools.fuzz.cases import Case, any_text
from tools.fuzz.forms import _Forms, page_routes
from tools.fuzz.sender import FAILED, Results

PAGE = """
<form method="post" action="/posts" enctype="multipart/form-data">
<input type="hidden" name="csrfmiddlewaretoken" value="x">
<textarea name="body"></textarea>
<select name="visibility"><option value="public"></option><option value="circle:1"></option></select>
<input type="file" name="file"><button name="remove" value="7" formaction="/posts/1/like">-</button></form>
<form action="/search"><input name="q"></form>
<form id="act" method="post"><input type="hidden" name="next" value="/"></form>
<button form="act" formaction="/posts/2/like" name="at" value="p2"></button>
<button form="act" formaction="/posts/2/pin"></button>
"""


@pytest.mark.parametrize(
    ("status", "says_when", "is_failure"),
    [(500, False, True), (502, False, True), (503, False, True), (503, True, False), (FAILED, False, True),
     (404, False, False), (422, False, False), (429, True, False)],
)  # fmt: skip
def test_failures(status, says_when, is_failure):
    results = Results()
    results.note(Case("one", "GET", "/"), status, says_when=says_when)
    assert bool(results.failed) == bool(results.failures) == is_failure
    assert results.total == 1


def test_a_failure_can_be_asked_again():
    case = Case("one", "POST", "/posts?a=1", (("Cookie", "a='b'"),), b"body=\xff'")
    words = shlex.split(case.curl("http://127.0.0.1:1"))
    assert words[:4] == ["curl", "-i", "-X", "POST"]
    assert "Cookie: a='b'" in words
    assert words[-1] == "http://127.0.0.1:1/posts?a=1"


def test_forms_are_read_from_pages():
    parser = _Forms("/home")
    parser.feed(PAGE)
    forms = {one.action: one for one in parser.found}
    assert set(forms) == {
        "/posts",
        "/posts/1/like",
        "/posts/2/like",
        "/posts/2/pin",
        "/search",
        "/home",
    }
    assert [name for name, _kind, _value in forms["/posts/2/like"].fields] == ["next", "at"]
    assert [name for name, _kind, _value in forms["/posts/2/pin"].fields] == ["next"]
    assert forms["/search"].method == "GET"
    assert forms["/posts"].multipart
    assert {("visibility", "option", "circle:1"), ("file", "file", "")} <= set(
        forms["/posts"].fields
    )


def test_all_pages_are_asked_for():
    routes = page_routes()
    assert {"home", "posts", "settings/delete", "@<str:handle>/<post:post_id>"} <= set(routes)
    assert not any(route.startswith(("api/", "admin/")) for route in routes)


def test_changes_are_the_same_for_the_same_seed():
    case = Case(
        "one",
        "PUT",
        "/api/v1/statuses/1?limit=2",
        (("Content-Type", "application/json"),),
        b'{"status": "x"}',
    )
    runs = [
        [changed(case, chance) for _one in range(200)]
        for chance in (random.Random(3), random.Random(3))
    ]
    assert runs[0] == runs[1]
    assert len({(one.path, one.headers, one.body) for one in runs[0]}) > 100
    assert all(one.path.startswith("/api/v1/") for one in runs[0])


@pytest.mark.slow
def test_texts_are_of_every_kind():
    chance = random.Random(1)
    texts = [any_text(chance) for _one in range(2000)]
    assert any("\x00" in text for text in texts)
    assert any(len(text) > 10_000 for text in texts)
    assert any(ord(character) > 0xFFFF for text in texts for character in text)
