"""How much of a text a card shows."""

import pytest

from apps.web.templatetags.cards import fold
from tests.support.factories import delivered

MORE = 'class="more"'


@pytest.mark.parametrize(
    ("body", "folded"),
    [
        ("short", ""),
        ("line\n" * 12, "tall"),
        ("line\n" * 11 + "line", ""),
        ("山" * 200, ""),
        ("山" * 300, "tall narrow"),
        ("山" * 500, "tall"),
        ("word " * 60, ""),
        ("word " * 100, "tall narrow"),
        ("山" * 100 + "\n" * 8 + "水" * 100, "tall"),
    ],
)
def test_texts_are_folded_by_the_lines_they_take(body, folded):
    assert fold(body) == folded


@pytest.mark.django_db
def test_a_long_text_without_line_breaks_is_whole_on_its_own_page_only(alice, page_of):
    post = delivered(alice, "山水之间" * 110)
    assert MORE in page_of(alice).get("/@alice").text
    assert 'class="content tall"' in page_of(alice).get("/@alice").text
    assert 'class="content"' in page_of(alice).get(f"/@alice/{post.pk}").text
