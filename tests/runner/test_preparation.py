import os

import pytest

from runner import preparation
from runner.checkout import ROOT
from runner.environment import UNCOMPRESSED
from runner.terminal import LaunchError

pytestmark = pytest.mark.flows


@pytest.fixture
def seeded(monkeypatch):
    """The sizes that were really added."""
    sizes: list[str] = []
    monkeypatch.setattr(preparation, "_run_seed", lambda _environment, size: sizes.append(size))
    return sizes


def test_new_data_gets_the_small_demo_once(data, seeded):
    assert [preparation.seed(data, {}, None) for _ in range(2)] == [True, True]
    assert seeded == ["small"]


def test_a_site_started_without_demo_people_never_gets_them_unasked(data, seeded):
    assert preparation.seed(data, {}, "none") is False
    assert preparation.seed(data, {}, None) is False
    assert seeded == []
    assert preparation.seed(data, {}, "medium") is True
    assert seeded == ["medium"]


def test_a_demo_that_is_there_stays_known(data, seeded):
    preparation.seed(data, {}, "small")
    assert preparation.seed(data, {}, "none") is True


def test_a_failed_demo_is_tried_again(data, monkeypatch):
    def failing(_environment, _size):
        raise LaunchError("no")

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "_run_seed", failing)
        with pytest.raises(LaunchError):
            preparation.seed(data, {}, None)
    sizes: list[str] = []
    monkeypatch.setattr(preparation, "_run_seed", lambda _environment, size: sizes.append(size))
    preparation.seed(data, {}, None)
    assert sizes == ["small"]


@pytest.fixture
def collected(data, monkeypatch):
    """How often files were collected."""
    calls: list[str] = []

    def collect(_data, environment, *arguments):
        calls.append(arguments[0])
        data.static.mkdir(exist_ok=True)
        (data.static / "staticfiles.json").touch()

    monkeypatch.setattr(preparation, "_quietly", collect)
    return calls


def test_static_files_are_collected_only_after_a_change(data, collected, place, monkeypatch):
    monkeypatch.setattr(preparation, "ROOT", place)
    environment = {"STATIC_ROOT": str(data.static), "STATICFILES_BACKEND": UNCOMPRESSED}
    (place / "static").mkdir()
    for text, times in (("a", 1), ("a", 1), ("bb", 2)):
        if not (place / "static" / "site.css").exists() or text != "a":
            (place / "static" / "site.css").write_text(text)
        preparation.collect_static(data, environment)
        assert len(collected) == times
    (data.static / "staticfiles.json").unlink()
    preparation.collect_static(data, environment)
    assert len(collected) == 3
    preparation.collect_static(data, {**environment, "STATICFILES_BACKEND": "another"})
    assert len(collected) == 4
    storage = place / "staticfiles.py"
    storage.write_text("what is made of them is made in another way")
    monkeypatch.setattr(preparation, "STATIC_STORAGE", storage)
    preparation.collect_static(data, environment)
    assert len(collected) == 5


def test_a_failed_command_is_told_by_its_error(data):
    with pytest.raises(
        LaunchError, match=r"^manage.py sqlmigrate failed: CommandError: .*\(log: .*manage.log\)$"
    ):
        preparation._quietly(
            data, {**os.environ, "PYTHONPATH": str(ROOT)}, "sqlmigrate", "nonsense", "1"
        )
