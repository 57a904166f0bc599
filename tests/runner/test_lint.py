"""`./run lint`: its steps, and what they say."""

import sys

import pytest

from runner import lint
from runner.terminal import say


def python(code):
    return [sys.executable, "-c", code]


def test_every_name_has_its_step_in_the_order_of_the_names():
    assert [step.name for step in lint.steps()] == list(lint.NAMES)
    assert [step.name for step in lint.steps(["types", "lint"])] == ["lint", "types"]


def test_what_a_failed_step_says_is_told_with_what_to_do(capsys):
    wrong = lint.Step("wrong", python("print('line 7 is odd'); exit(3)"), "Make it even.")
    right = lint.Step("right", python("print('nobody wants to know')"))
    assert lint.run([wrong, right], side_by_side=1) == ["wrong"]
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in (said[0], said[3])] == [
        ["wrong", "failed"],
        ["right", "ok"],
    ]
    assert said[1:3] == ["line 7 is odd", "Make it even."]
    assert len(said) == 4


def test_what_stopped_a_step_is_told_without_the_advice(capsys):
    assert lint.run([lint.Step("wrong", python("raise ValueError"), "Make it even.")]) == ["wrong"]
    said = capsys.readouterr().out
    assert "ValueError" in said
    assert "even" not in said


def test_a_failed_step_is_told_while_others_run(capsys, tmp_path):
    """The slow one ends only when the failure of the other has been told."""
    told = tmp_path / "told"
    slow = lint.Step(
        "slow",
        python(f"import os, time\nwhile not os.path.exists({str(told)!r}): time.sleep(0.01)"),
    )
    quick = lint.Step("quick", python("exit(1)"))

    def note(text):
        say(text)
        told.touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lint, "say", note)
        assert lint.run([slow, quick], side_by_side=2) == ["quick"]
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "quick",
        "no",
        "slow",
    ]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    for folder in lint.FOLDERS:
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "inner/fine.py").write_text("VALUE = 1\n")
    for module in lint.MODULES:
        (tmp_path / module).write_text("VALUE = 1\n")
    return tmp_path


@pytest.mark.slow
def test_what_is_no_python_is_told_by_file_line_and_reason(checkout):
    assert lint.syntax_errors() == []
    (checkout / "apps/inner/list.py").write_text("VALUES = [\n    1\n    2,\n]\n")
    (checkout / "serve.py").write_text("def main()\n    pass\n")
    (checkout / "tools/inner/pairs.py").write_text("PAIRS = [\n    (1, 2)\n    (3, 4),\n]\n")
    assert lint.syntax_errors() == [
        "apps/inner/list.py:2: invalid syntax. Perhaps you forgot a comma?: 1",
        "tools/inner/pairs.py:2: 'tuple' object is not callable; perhaps you missed a comma?: (1, 2)",
        "serve.py:1: expected ':': def main()",
    ]


def test_bytecode_is_made_on_the_way(checkout):
    lint.syntax_errors()
    assert len(list(checkout.rglob("*.pyc"))) == len(lint.FOLDERS) + len(lint.MODULES)
