"""docs/recipes.md and the tutorials: the files and the names that they tell of are there."""

import re

import pytest

from runner.checkout import ROOT
from tests.test_where import names_in

PAGE = (ROOT / "docs" / "recipes.md").read_text()
PLACE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+|[\w-]+\.(?:py|toml|yml))(?:: ([\w.]+))?`")
SUBJECTS = (
    "mark", "count", "event", "kind of notification", "endpoint", "page", "setting", "rule for home", "optional app",
    "language",
)  # fmt: skip


def test_there_is_a_recipe_for_each_subject():
    headings = re.findall(r"^## Add an? (.+)$", PAGE, re.MULTILINE)
    assert headings == list(SUBJECTS)


def test_a_recipe_names_only_what_is_there(subtests):
    for recipe in PAGE.split("\n## ")[1:]:
        title, _line, text = recipe.partition("\n")
        places = PLACE.findall(text)
        with subtests.test(title):
            assert len(places) > 3
            assert [path for path, _name in places if not is_there(path)] == []
            assert [
                (path, name) for path, name in places if name and name not in names_in(path)
            ] == []


@pytest.mark.parametrize("name", ["tour.md", "first_change.md"])
def test_a_tutorial_names_only_what_is_there(name):
    places = PLACE.findall((ROOT / "docs" / name).read_text())
    assert len(places) > 5
    assert [place for place in places if not is_there(place[0])] == []
    assert [(path, name) for path, name in places if name and name not in names_in(path)] == []


def is_there(path):
    return path in OF_EVERY_APP or (ROOT / path).exists()


OF_EVERY_APP = {"handlers.py", "module.py"}
