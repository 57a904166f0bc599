import json
from itertools import pairwise
from xml.etree import ElementTree

from rich.console import Console

from tools.bench.measure import Spread, compare, ratio
from tools.bench.report import Line, show, write

LINES = [
    Line("load & read", "us", Spread(10, 9, 12), {"SADD <one by one>": Spread(4000, 3900, 4100)}, "10x", True),
    Line("stale reads", "reads", Spread.exact(0), {"HashClient": Spread.exact(992)}, "0", False),
    Line("only shown", "bytes", Spread.exact(21.5)),
]  # fmt: skip


def test_the_files_hold_every_line(tmp_path):
    places = write(tmp_path / "bench", "caches", LINES, "Redis 7")
    data = json.loads(places[0].read_text())
    assert [line["what"] for line in data["lines"]] == ["load & read", "stale reads", "only shown"]
    assert data["lines"][0]["others"]["SADD <one by one>"]["median"] == 4000
    plot = ElementTree.fromstring(places[1].read_text())
    texts = [node.text for node in plot.iter("{http://www.w3.org/2000/svg}text")]
    assert "SADD <one by one>" in texts
    assert texts.count("feedsite") == 2  # a line alone compares nothing
    table = places[2].read_text()
    assert table.count("\n| ") == len(LINES) + 2  # each of two tables has a head
    bars, further = table.split("## Further figures")
    assert "only shown" in further
    assert "only shown" not in bars
    assert "falls short" in table


def test_what_grows_is_a_plot_of_curves(tmp_path):
    curves = {"feedsite": [(10.0, 1.5), (1000.0, 2.0)], "naive": [(10.0, 3.0), (1000.0, 300.0)]}
    line = Line("a page", "ms", Spread.exact(2), axis="posts", growth=curves)
    place = write(tmp_path, "site", [line], "Redis 7")[-1]
    assert place.name == "site-growth.svg"
    plot = ElementTree.fromstring(place.read_text())
    lines = list(plot.iter("{http://www.w3.org/2000/svg}polyline"))
    heights = [
        [float(point.split(",")[1]) for point in one.attrib["points"].split()] for one in lines
    ]
    assert heights[0][0] > heights[0][1] > heights[1][1]  # more is higher


def test_lines_with_the_same_figures_are_a_table_of_their_own(tmp_path):
    lines = [
        Line(f"page {n}", "ms", Spread.exact(n), figures={"SQL": n, "bytes": 9}) for n in (1, 2)
    ]
    table = write(tmp_path, "site", lines, "Redis 7")[-1].read_text()
    assert "| | SQL | bytes |" in table
    assert "| page 2 | 2 | 9 |" in table


def test_the_table_says_what_falls_short(capsys):
    show(Console(width=200), LINES)
    printed = capsys.readouterr().out
    assert "falls short" in printed
    assert printed.count("pass") == 1


def test_ways_are_timed_in_turn():
    order = []
    spreads = compare({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=3)
    assert set(spreads) == {"a", "b"}
    assert order[-1] == "b"
    changes = sum(one != other for one, other in pairwise(order))
    assert changes == 2 * 3 - 1 + 2  # three rounds of both, and one calibration of each before


def test_a_spread_orders_its_values():
    spread = Spread.of([5, 1, 3, 2, 4, 9, 8, 7, 6, 10])
    assert (spread.low, spread.median, spread.high) == (2, 5.5, 9)
    assert ratio(Spread.exact(30), Spread.exact(10)) == 3
