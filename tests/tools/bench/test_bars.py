"""The table of `./run bench`: what passes, what goes beyond, what falls short, and in which order."""

import json

from tools.bench import bars, site
from tools.bench.bars import Bar
from tools.bench.measure import Spread
from tools.bench.report import Line, verdict, write

SHARE = Bar("a share", 10, " %", 15, at_least=True)
COST = Bar("a cost", 8, " times", 6)


def judged(bar, measured, **more):
    return verdict(bar.line("", Spread.exact(measured), measured, **more))


def test_a_line_says_what_it_reaches():
    assert [judged(SHARE, value) for value in (9.9, 10, 15)] == ["falls short", "pass", "pass, beyond"]  # fmt: skip
    assert [judged(COST, value) for value in (8.1, 8, 6)] == ["falls short", "pass", "pass, beyond"]  # fmt: skip


def test_an_error_makes_a_line_fall_short():
    line = COST.line("ms", Spread.exact(1), 1, errors=1)
    assert (verdict(line), line.beyond) == ("falls short", False)


def test_errors_that_another_line_counts_are_not_counted_twice():
    line = COST.line("ms", Spread.exact(1), 1, failed=True)
    assert (verdict(line), line.errors) == ("falls short", 0)


def test_a_line_says_its_bar_and_what_was_measured():
    line = COST.line("ms", Spread.exact(1), 7.25, note="more")
    assert (line.bar, line.note) == (
        "at most 8 times; long-term target: 6 times",
        "7.25 times; more",
    )


def test_what_was_not_measured_is_neither(tmp_path):
    line = bars.TAKAHE.not_measured("no Takahē checkout was given")
    assert verdict(line) == "not measured"
    places = write(tmp_path, "site", [line], "Redis 7")
    assert json.loads(places[0].read_text())["lines"][0]["ours"] is None
    assert "| - " in places[1].read_text()


def test_the_table_is_in_its_order_with_all_errors_at_its_end():
    lines = [
        Line("figures", "ms", Spread.exact(1), errors=2),
        bars.MEMORY.line("MB", Spread.exact(400), 400),
        bars.HOME_COST.line("ms", Spread.exact(1), 5, errors=1),
    ]
    concluded = site.conclude(lines)
    assert [line.what for line in concluded] == [
        bars.HOME_COST.what, bars.MEMORY.what, bars.ERRORS.what, "figures"
    ]  # fmt: skip
    errors = concluded[2]
    assert (errors.passed, errors.ours) == (False, Spread.exact(3))
    assert f"1 in {bars.HOME_COST.what}" in errors.note


def test_a_part_that_was_not_measured_comes_first():
    failed = Line("part mix", "", None, bar="must finish", passed=False)
    table = site.conclude([bars.MEMORY.line("MB", Spread.exact(1), 1), failed])
    assert table[0] is failed


def test_every_bar_is_in_the_table_once():
    defined = {value.what for value in vars(bars).values() if isinstance(value, Bar)}
    assert len(bars.ORDER) == len({bar.what for bar in bars.ORDER})
    assert defined == {bar.what for bar in bars.ORDER}


def test_every_part_has_its_time():
    parts = site.PARTS | site.MORE_PARTS
    assert set(site.SECONDS) == set(parts)
