from pathlib import Path

import pytest

from tools.house.names import ad_hoc_modules, modules_by_folder, underscore_names

pytestmark = pytest.mark.long

PATHS = [
    Path(name)
    for name in (
        "apps/posts/__init__.py", "apps/posts/models.py", "apps/posts/visibility.py", "apps/posts/idempotency.py",
        "apps/posts/media/crop.py", "apps/posts/management/commands/index.py", "apps/posts/migrations/0001_initial.py",
    )
]  # fmt: skip


def test_modules_of_a_folder_are_counted_without_init_and_migrations():
    assert modules_by_folder(PATHS) == {
        Path("apps/posts"): 3,
        Path("apps/posts/media"): 1,
        Path("apps/posts/management/commands"): 1,
    }


def test_names_that_are_no_role_come_by_folder_longest_list_first():
    assert list(ad_hoc_modules(reversed(PATHS)).items()) == [
        (Path("apps/posts"), ["idempotency", "visibility"]),
        (Path("apps/posts/media"), ["crop"]),
    ]


def named(**sources):
    files = {Path(f"apps/{name}.py"): text for name, text in sources.items()}
    return underscore_names(files, ["apps"])


def test_underscore_names_of_others_are_found_where_they_are_imported_and_read():
    assert named(
        pool="import redis._parsers\nfrom django.db import _secret, models\n\n\nconnection._prepare()\n"
    ) == [
        "apps/pool.py:1 _parsers",
        "apps/pool.py:2 _secret",
        "apps/pool.py:5 _prepare",
    ]


def test_a_name_of_another_module_of_ours_does_not_hide_one_of_a_dependency():
    assert named(one="def _prepare(): ...\n", other="connection._prepare()\n") == [
        "apps/other.py:1 _prepare"
    ]


def test_own_names_documented_ones_and_dunders_are_left_alone():
    own = "class Base:\n    def _own(self):\n        self._count = 1\n"
    heir = (
        "class Heir(Base):\n    def run(self):\n        self._own()\n        return self._count\n"
    )
    documented = "from apps.one import _two\nmodel._meta.pk\nitem._replace(a=1)\nitem.__class__\n"
    assert named(base=own, heir=heir, documented=documented) == []
