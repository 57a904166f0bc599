import json
from io import StringIO

import pytest
from rich.console import Console

from runner.checkout import ROOT
from tools.house import report
from tools.house.__main__ import main
from tools.house.report import Bar, show, survey
from tools.house.trace import Trace

pytestmark = pytest.mark.long


@pytest.fixture
def root(tmp_path):
    for name, text in {
        "apps/pagination.py": "a = 1\n",
        "apps/posts/models.py": '"""Posts."""\n\nimport redis._parsers\n',
        "apps/posts/migrations/0001_initial.py": "b = 2\n",
        "apps/extra/pages.py": "d = 4\ne = 5\n",
        "feedsite/settings.py": 'POSSIBLE_APPS = ["apps.extra"]\n',
        "tests/test_posts.py": "def test(): ...\n",
        **{f"apps/posts/part{number}.py": "" for number in range(12)},
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_figures_stand_beside_their_bars(root):
    calls = [(f"apps/posts/part{number}.py", "get") for number in range(23)]
    house = survey(root, {"home_timeline": Trace(calls)})
    bars = {bar.name: (bar.value, bar.is_met) for bar in house.bars}
    assert bars == {
        "lines of the core (apps but the optional ones, feedsite)": (3, True),
        "lines of apps, feedsite and feedcache": (7, True),
        "migration lines": (1, True),
        "test lines": (1, True),
        "modules of the fullest folder": (13, False),
        "home_timeline: own files": (23, False),
        "home_timeline: ways into another folder": (0, True),
        "home_timeline: own functions": (23, True),
        "home_timeline: own calls": (23, True),
    }
    assert {name: lines.total for name, lines in house.apps.items()} == {
        "extra": 2,
        "posts": 3,
        "(loose in apps)": 1,
        "feedsite": 1,
    }


def test_tables_and_json_say_the_same(root):
    house = survey(root, {})
    output = StringIO()
    show(house, Console(file=output, width=120))
    assert "too much: at most 12" in output.getvalue()
    assert "apps/posts/models.py:3" in output.getvalue()
    told = json.loads(json.dumps(house.as_json()))
    assert told["underscore_names"] == ["apps/posts/models.py:3 _parsers"]
    assert told["folders"]["apps/posts"] == 13
    assert told["apps"]["posts"] == {
        "code": 0, "imports": 1, "docstrings": 1, "comments": 0, "blank": 1, "total": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "maximum", "verdict"),
    [(12, 12, "ok: at most 12"), (13, 12, "too much: at most 12"), (13, None, "")],
)
def test_a_bar_says_whether_it_is_met(value, maximum, verdict):
    assert Bar("modules", value, maximum).verdict == verdict


@pytest.mark.gate
def test_the_core_is_as_large_as_a_decision_says():
    """A core that has grown by more than a thousand lines needs a new one, and both constants of `report`.

    `./run house` refuses it, and the gate runs that.
    """
    [decision] = (ROOT / "docs/decisions").glob(f"{report.CORE_DECISION}-*.md")
    assert f"{report.CORE_LINES:,} lines" in decision.read_text("utf-8")


def test_a_core_that_has_grown_fails(monkeypatch, capsys):
    monkeypatch.setattr(report, "CORE_LINES", 1)
    assert main(["--no-trace"]) == 1
    assert "too much: at most 1,001" in capsys.readouterr().out
