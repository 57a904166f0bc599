"""The generated documents are what the code says now."""

import pytest

from runner.checkout import ROOT
from tools.docs import generated


@pytest.mark.parametrize("name", generated.documents())
def test_a_document_is_up_to_date(name):
    made = generated.documents()[name]()
    assert (ROOT / name).read_text() == made, "./run lint --fix documents writes it"


def test_what_is_out_of_date_is_named_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(
        generated,
        "documents",
        lambda: {"docs/a.md": lambda: "new\n", "docs/b.md": lambda: "same\n"},
    )
    (tmp_path / "docs" / "a.md").write_text("old\n")
    (tmp_path / "docs" / "b.md").write_text("same\n")
    assert generated.main([]) == 1
    assert capsys.readouterr().out == "docs/a.md is out of date\n"
    assert generated.main(["--write"]) == 0
    assert (tmp_path / "docs" / "a.md").read_text() == "new\n"
    assert generated.main([]) == 0
