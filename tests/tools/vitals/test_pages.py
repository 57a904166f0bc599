"""The table of pages knows every template, and every page can be reached."""

import re
from pathlib import Path

import pytest

from tools.vitals.pages import ELSEWHERE, PAGES, named

ROOT = Path(__file__).parents[3]
STAFF = {"admin", "console"}  # built on Django's own admin


def test_every_page_that_people_see_is_looked_at():
    templates = {
        path.relative_to(ROOT / "templates").as_posix()
        for path in (ROOT / "templates").rglob("*.html")
        if not path.name.startswith("_")
    }
    seen = {name for name in templates if name.split("/")[0] not in STAFF}
    assert seen - ELSEWHERE == {page.template for page in PAGES}


def test_names_are_unique_and_tell_pages_apart():
    assert len({page.name for page in PAGES}) == len(PAGES)
    assert [page.name for page in named(["thread", "home"])] == ["thread", "home"]
    assert named([]) == list(PAGES)
    assert [page.name for page in named(["settings-f*", "home", "home"])] == [
        "settings-filters",
        "home",
    ]
    with pytest.raises(KeyError):
        named(["nowhere"])


def test_addresses_hold_nothing_but_what_the_stage_makes():
    stage = (ROOT / "tools/vitals/stage.py").read_text()
    used = {name for page in PAGES for name in re.findall(r"{(\w+)}", page.address)}
    assert used == set(re.findall(r'^        "(\w+)": ', stage, re.MULTILINE))
