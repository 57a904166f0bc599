"""The budgets on the pages that most people see, in a real browser on a real server; `./run vitals` looks at all."""

import pytest

from tools.vitals.browser import MISSING, PROGRAM
from tools.vitals.budgets import lines_of
from tools.vitals.pages import named
from tools.vitals.report import findings
from tools.vitals.stage import prepare
from tools.vitals.survey import survey

NARROW = ("home", "home-menu", "thread", "compose", "notifications")
WIDE = ("landing", "home-help", "profile", "search", "settings-account", "missing")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason=MISSING),
    pytest.mark.flows,
]


def test_the_budgets_hold(site, cast):
    scene = prepare(site, cast)
    looks = [
        *survey(scene, named(list(NARROW)), languages=("zh-hans",), widths=(390,)),
        *survey(scene, named(list(WIDE)), languages=("en",), widths=(1280,)),
    ]
    assert [f"{look.where}: {one}" for look in looks for one in findings(look)] == []
    assert [line for line in lines_of(looks) if not line.kept] == []
