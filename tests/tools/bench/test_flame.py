import time
from collections import Counter
from xml.etree import ElementTree

import pytest

from tools.bench.flamegraph import draw
from tools.bench.site import flame

SVG = "{http://www.w3.org/2000/svg}"
STACKS = {("outer (apps/a.py)", "inner (django/b.py)"): 30, ("outer (apps/a.py)",): 10, ("<x> (c)",): 60}  # fmt: skip


def boxes():
    plot = ElementTree.fromstring(draw(STACKS, "one <request>"))
    found = {}
    for group in plot.iter(f"{SVG}g"):
        title, rect = next(group.iter(f"{SVG}title")), next(group.iter(f"{SVG}rect"))
        found[title.text] = rect.attrib
    return found


def test_a_box_is_as_wide_as_its_share_and_below_its_caller():
    found = boxes()
    outer, inner = found["outer (apps/a.py): 40.0%"], found["inner (django/b.py): 30.0%"]
    assert float(outer["width"]) * 30 == float(inner["width"]) * 40
    assert float(outer["x"]) == float(inner["x"])
    assert float(outer["y"]) < float(inner["y"])
    assert float(found["<x> (c): 60.0%"]["y"]) == float(outer["y"])


def test_what_is_too_narrow_is_left_out():
    stacks: flame.Stacks = Counter({("a (x)",): 100_000, ("b (x)",): 1})
    assert draw(stacks, "").count("<title>") == 1


def test_own_time_is_of_the_last_function():
    own = flame.own_time(Counter(STACKS))
    assert own == {"inner (django/b.py)": 30, "outer (apps/a.py)": 10, "<x> (c)": 60}


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.slow
@pytest.mark.waits("that a wait is not sampled is what it is about")
def test_samples_are_of_processor_time():
    with flame.samples() as stacks:
        spin(0.5)
        time.sleep(0.3)
    names = Counter()
    for stack, count in stacks.items():
        names[stack[-1].partition(" ")[0]] += count
    assert names["spin"] > 10
    assert names["spin"] > 0.9 * stacks.total(), "waiting is not sampled"


def test_the_bench_itself_is_not_in_the_graph():
    stacks: flame.Stacks = Counter({("main (tools/bench/__main__.py)", "ask (tools/bench/site/profile.py)"): 5,
                      ("main (tools/bench/__main__.py)", "call (django/x.py)"): 7})  # fmt: skip
    assert flame._below_bench(stacks) == {("call (django/x.py)",): 7}
