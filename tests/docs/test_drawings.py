"""The drawings of the documentation: what they say beside the code's own data is true, and they can be read."""

from xml.etree import ElementTree

import pytest

from apps.posts.visibility import RULES
from runner.checkout import ROOT
from tests.test_view_budgets import BUDGETS
from tests.test_where import names_in
from tools.docs import drawings
from tools.docs.svg import Canvas, width_of

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("place", sorted(set(drawings.places())))
def test_a_place_in_a_drawing_is_there(place):
    path, name = place.split(": ")
    assert (ROOT / path).is_file()
    assert name in names_in(path)


def test_home_has_as_many_round_trips_as_the_budget_of_its_page():
    budget = BUDGETS["/api/v1/timelines/home"]
    assert len(drawings.TRIPS) == budget.trips
    assert budget.sql == 0


def test_the_table_of_visibilities_is_that_of_the_rules():
    picture = ElementTree.fromstring(drawings.visibility())
    dots = [dot.get("class") == "yes" for dot in picture.iter(f"{SVG}circle")]
    rows = dict(zip(RULES, rows_of(dots), strict=True))
    assert able(rows["public"]) == able(rows["unlisted"]) == drawings.VIEWERS.keys() - {"blocked"}
    assert able(rows["followers"]) == {"a follower", "a friend", "mentioned", "the author"}
    assert able(rows["friends"]) == {"a friend", "the author"}
    assert able(rows["mentioned"]) == {"mentioned", "the author"}
    assert able(rows["circle"]) == {"in the circle", "the author"}


def rows_of(dots):
    width = len(drawings.VIEWERS)
    return [
        dict(zip(drawings.VIEWERS, dots[at : at + width], strict=True))
        for at in range(0, len(dots), width)
    ]


def able(row):
    return {viewer for viewer, can in row.items() if can}


def test_every_layer_of_the_contract_is_drawn():
    texts = texts_in(drawings.folders())
    assert [name for layer in drawings.layers() for name in layer if name not in texts] == []


@pytest.mark.parametrize("path", drawings.drawings())
def test_a_drawing_is_named_fits_and_follows_the_theme(path):
    text = drawings.drawings()[path]()
    picture = ElementTree.fromstring(text)
    width, height = number(picture, "width"), number(picture, "height")
    assert picture.findtext(f"{SVG}title")
    assert picture.findtext(f"{SVG}desc")
    assert "prefers-color-scheme: dark" in text
    for box in picture.iter(f"{SVG}rect"):
        assert number(box, "x") + number(box, "width") <= width
        assert number(box, "y") + number(box, "height") <= height
    for line in picture.iter(f"{SVG}text"):
        if line.get("text-anchor") == "start":
            assert number(line, "x") + 6.2 * len(line.text or "") <= width, line.text


def number(node, name):
    return float(node.get(name, "0"))


def texts_in(text):
    return {line.text for line in ElementTree.fromstring(text).iter(f"{SVG}text")}


def test_a_canvas_grows_with_what_is_drawn_and_escapes_texts():
    canvas = Canvas("a < b", "c")
    assert canvas.box(0, 100, width_of("x"), ["x & y"]) == 128
    text = canvas.svg()
    assert 'height="144"' in text
    assert "a &lt; b" in text
    assert "x &amp; y" in text
