"""What `./run vitals` times and presses is on the pages, and what fails is told beside the rest."""

import pytest
from rich.console import Console

from runner.checkout import ROOT
from tools.vitals import __main__ as command
from tools.vitals import warm
from tools.vitals.browser import MISSING, PROGRAM, chromium
from tools.vitals.budgets import Line
from tools.vitals.look import MissingError, press, tab_in
from tools.vitals.pages import named
from tools.vitals.speed import presses, times
from tools.vitals.stage import prepare

pytestmark = [pytest.mark.browser, pytest.mark.skipif(PROGRAM is None, reason=MISSING)]


def test_a_page_is_timed_and_a_like_pressed(site, cast):
    scene, [home] = prepare(site, cast), named(["home"])
    found = times(scene, [home], rounds=1)["home"]
    assert len(found.first_bytes) == 2
    assert found.cold.median > 0 < found.warm.median
    assert presses(scene, home, rounds=1).median > 0


def test_what_is_not_there_to_press_is_told_at_once():
    with chromium() as browser:
        tab = tab_in(browser.new_context())
        tab.set_default_timeout(1)  # milliseconds: nothing is waited for
        with pytest.raises(MissingError, match="about:blank has nothing that matches '#nowhere'"):
            press(tab, "#nowhere")


def test_a_part_that_fails_is_a_line_and_the_others_are_written(tmp_path, monkeypatch, capsys):
    good = Line("largest paint (LCP), cold", "ms", 90, 1000)

    def broken():
        raise MissingError("/ has nothing that matches '.like'")

    parts = [("times", lambda: [good]), ("presses", broken)]
    monkeypatch.setattr(command, "_parts", lambda *_whatever: parts)
    monkeypatch.setattr(command, "prepare", lambda *_whatever, **_options: None)
    monkeypatch.setattr(command, "Console", lambda: Console(width=200))
    assert command.main(["--site", "http://127.0.0.1:1", "--directory", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "/ has nothing that matches '.like'" in printed
    written = (tmp_path / "vitals.md").read_text()
    assert "| largest paint (LCP), cold | 90 ms | < 1000 ms | pass |" in written
    assert "| presses | 1 not measured | 0 | falls short |" in written


def test_the_tests_of_a_warm_home_page_are_there():
    assert (ROOT / warm.TESTS).is_file()
