"""Which tests a change cannot break."""

import subprocess

import pytest

from tools.changes import TESTED_ALONE, changed_since, untouched

EVERY = set(TESTED_ALONE.values())


@pytest.mark.parametrize(
    ("changed", "left_out"),
    [
        (["README.md", "templates/base.html"], EVERY),
        (["feedcache/ids.py"], {"tests/runner"}),  # tools import it
        (["runner/checkout.py"], {"tests/feedcache"}),
        (["tools/mutate/mutants.toml"], EVERY - {"tests/tools"}),
        (["tests/feedcache/test_ids.py"], EVERY - {"tests/feedcache"}),
        (["apps/posts/models.py"], {"tests/feedcache", "tests/runner"}),
        (["tests/support/factories.py"], set()),
        (["requirements.txt"], set()),
        ([], EVERY),
    ],
)
def test_tests_stay_away_only_where_nothing_they_import_has_changed(changed, left_out):
    assert set(untouched(changed)) == left_out


def test_what_is_not_committed_counts_too(tmp_path, monkeypatch):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "old.py").write_text("1")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "One"], check=True)
    monkeypatch.setattr("tools.changes.ROOT", tmp_path)
    assert changed_since("HEAD") == []
    (tmp_path / "old.py").write_text("2")
    (tmp_path / "new.py").write_text("3")
    assert changed_since("HEAD") == ["old.py", "new.py"]
    with pytest.raises(subprocess.CalledProcessError):
        changed_since("no-such-commit")
