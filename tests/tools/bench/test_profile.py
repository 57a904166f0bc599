"""What the shares of a request are named after: the code as it is."""

from pathlib import Path

import django
import pytest

from runner.checkout import ROOT
from tools.bench.site import profile

OURS = ("apps/", "feedcache/", "feedsite/")
SITE_PACKAGES = Path(django.__file__).parent.parent
PATHS = sorted({*profile.PURPOSES, *profile.PURPOSES_OF_A_PUBLICATION})


def test_what_has_a_purpose_is_there():
    assert [path for path in PATHS if not is_there(path)] == []


def is_there(path):
    if not path.startswith(OURS):
        return (SITE_PACKAGES / path.removeprefix("site-packages/")).exists()
    place = ROOT / path
    return place.is_dir() if path.endswith("/") else place.is_file()


@pytest.mark.parametrize(
    "folder", ["feedcache/structures", "apps/timeline", "apps/posts", "apps/graph", "apps/api"]
)
def test_a_new_module_has_a_purpose(folder):
    paths = [str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py")]
    rest = [path for path in paths if purpose(path) == profile.OTHER]
    assert len(paths) > 3
    assert not [path for path in rest if Path(path).name != "__init__.py"]


def purpose(path):
    return profile._purpose(profile.PURPOSES, path)


def test_the_first_path_that_fits_decides():
    assert purpose("/x/apps/timeline/sources/older.py") == "ids of the page"
    assert purpose("/x/apps/timeline/pipeline/word_filters.py") == "word filters and promotions"
    assert purpose("/venv/site-packages/django/db/models/query.py").startswith("PostgreSQL")
    assert purpose("/usr/lib/python3.11/threading.py") == profile.OTHER
