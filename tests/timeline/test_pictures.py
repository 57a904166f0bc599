"""The pictures of a card: as large as they are shown, never later than they are seen,
and still until they are opened.
"""

import re
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string

from apps.posts.content.post import Picture

LARGE = Picture(1, "/media/large.webp", 2048, 1365, "A wall", "/media/small.webp")


def drawn(*pictures, place=1):
    item = SimpleNamespace(post=SimpleNamespace(pictures=pictures))
    page = render_to_string("timeline/_pictures.html", {"item": item, "place": place})
    return re.findall(r"<a .*?</a>", page)


def test_a_large_picture_comes_in_two_sizes_and_keeps_its_place():
    (one,) = drawn(LARGE)
    assert 'srcset="/media/small.webp 640w, /media/large.webp 2048w" sizes="' in one
    assert 'width="2048" height="1365"' in one
    assert 'href="/media/large.webp"' in one


@pytest.mark.parametrize("preview", ["", "/media/small.webp"])
def test_a_small_picture_is_loaded_as_it_is(preview):
    (one,) = drawn(Picture(1, "/media/a.webp", 640, 320, "", preview))
    assert 'src="/media/a.webp"' in one
    assert "srcset" not in one
    assert "<span" not in one


def test_a_moving_picture_moves_when_it_is_opened():
    (one,) = drawn(Picture(1, "/media/a.webp", 900, 900, "", "/media/small.webp", moves=True))
    assert 'href="/media/a.webp"' in one
    assert 'src="/media/small.webp"' in one
    assert "srcset" not in one
    assert ">GIF</span>" in one


def test_what_is_seen_first_is_loaded_first():
    first, second = drawn(LARGE, LARGE)
    assert "fetchpriority" in first
    assert "fetchpriority" not in second
    assert "loading" not in first + second
    assert "fetchpriority" not in drawn(LARGE, place=2)[0]
    assert 'loading="lazy"' in drawn(LARGE, place=3)[0]
