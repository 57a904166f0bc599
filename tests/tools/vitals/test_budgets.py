"""Figures become lines, lines become a verdict, a table and a plot."""

import json
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tools.bench.measure import Spread
from tools.vitals import report
from tools.vitals.__main__ import main
from tools.vitals.budgets import Line, line_of_presses, line_of_warmth, lines_of, lines_of_times
from tools.vitals.look import Look, Violation
from tools.vitals.pages import named
from tools.vitals.speed import Times
from tools.vitals.warm import verdict

POLICY = "default-src 'self'; script-src 'self'"


def look(name="home", **seen):
    page = named([name])[0]
    fine = {
        "status": page.status,
        "policy": POLICY,
        "script": 20_000,
        "style": 7_000,
        "html": 9_000,
        "requests": 7,
    }
    return Look(page, "en", 390, **{**fine, **seen})  # fmt: skip


def missed(*looks):
    return [line.what for line in lines_of(looks) if not line.kept]


def test_what_is_inside_its_budget_is_kept():
    assert missed(look(), look("missing")) == []


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        ({"violations": [Violation("color-contrast", "dark", ("p",))]}, "axe-core violations, all rules"),
        ({"wide": ["320: 400 px, pre"]}, "pages that scroll sideways, at 320 px too"),
        ({"complaints": ["Refused"]}, "messages in the console"),
        ({"status": 500}, "pages with an unexpected status"),
        ({"policy": "script-src 'unsafe-inline'"}, "pages that allow inline code"),
        ({"policy": ""}, "pages that allow inline code"),
        ({"shift": 0.01}, "layout shift (CLS)"),
        ({"script": 31 * 1024}, "scripts per page"),
        ({"style": 10.6 * 1024}, "style sheets per page"),
        ({"html": 60 * 1024}, "HTML per page"),
        ({"requests": 14, "pictures": 2}, "requests per page, without people's pictures"),
        ({"above": 170}, "height above the first post, 390 px wide"),
    ],
)  # fmt: skip
def test_each_budget_can_be_missed(seen, what):
    assert missed(look(), look(**seen)) == [what]


def test_the_slowest_page_counts():
    fast, slow, bytes_ = Spread.exact(90), Spread.exact(1200), tuple(range(1, 20))
    lines = lines_of_times(
        {"home": Times(fast, fast, bytes_), "local": Times(slow, fast, (150.0,))}
    )
    assert [(line.found, line.worst, line.kept) for line in lines] == [
        (1200, "local", False), (90, "home", True), (150, "local", False),
    ]  # fmt: skip


def test_a_press_and_a_warm_home_page_have_budgets_too():
    assert line_of_presses(Spread.exact(32)).kept
    assert not line_of_presses(Spread.exact(56)).kept
    assert line_of_warmth(0, "").kept
    assert line_of_warmth(1, "1 failed").worst == "1 failed"
    assert not line_of_warmth(1, "1 failed").kept


@pytest.mark.parametrize(
    ("status", "output", "missed"),
    [
        (0, "....\n4 passed in 2.1s\n", 0),
        (0, "...s\n3 passed, 1 skipped in 2.1s\n", 1),
        (1, "..FE\n1 failed, 2 passed, 1 error in 2.1s\n", 2),
        (4, "ERROR: file or directory not found\n", 1),
        (5, "no tests ran in 0.1s\n", 1),
        (2, "", 1),
    ],
)
def test_tests_that_did_not_pass_are_misses(status, output, missed):
    found, said = verdict(status, output)
    assert found == missed
    assert bool(said) == bool(missed)


def test_what_is_written_says_it_all(tmp_path):
    looks = [look(), look("landing", wide=["320: 400 px, <pre>"])]
    lines = [*lines_of(looks), Line("largest <paint>", "ms", 250, 300.0, "home")]
    places = report.write(tmp_path, lines, looks, minutes=7.26, browser="Chromium 1")
    data = json.loads(places[0].read_text())
    assert (data["looks"], data["pages"], data["minutes"]) == (2, ["home", "landing"], 7.3)
    assert data["findings"] == ["landing en 390: 320: 400 px, <pre>"]
    assert [line["what"] for line in data["lines"] if not line["kept"]] == [
        "pages that scroll sideways, at 320 px too"
    ]
    assert "| scripts per page | 19.5 KB gzip | < 30.5 KB gzip | pass |" in places[1].read_text()
    texts = [one.text for one in ElementTree.fromstring(places[2].read_text()).iter() if one.text]
    assert "250 ms of < 300 ms, pass" in texts


def test_the_terminal_shows_findings_and_verdicts(capsys):
    looks = [look(violations=[Violation("image-alt", "light", ("img",))] * 30)]
    console = Console(width=200)
    report.show_findings(console, looks)
    report.show(console, lines_of(looks))
    printed = capsys.readouterr().out
    assert "home en 390: image-alt (light): img" in printed
    assert "and 10 more" in printed
    assert printed.count("falls short") == 1


def test_the_command_explains_itself(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "examples:" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(["--only", "nowhere"])
    assert stopped.value.code == 2
    assert "no page matches 'nowhere'" in capsys.readouterr().err


def test_the_command_lists_the_pages(capsys):
    assert main(["--pages", "--only", "settings-f*"]) == 0
    assert capsys.readouterr().out.split() == ["settings-filters", "/settings/filters"]


def test_without_a_browser_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr("tools.vitals.__main__.PROGRAM", None)
    assert main([]) == 2
    assert "Chromium was not found" in capsys.readouterr().out
