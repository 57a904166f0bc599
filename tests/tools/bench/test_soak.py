"""The soak: which process counts as growing, and what is said of the disks."""

import os
import subprocess
import sys

import pytest

from tests.support.waiting import wait_until
from tools.bench.soak import disk, memory
from tools.bench.soak.memory import Series, Watch

MINUTES = 60
GROW = "import sys; kept = []\nfor line in sys.stdin: kept.append(bytearray(8 << 20)); print(flush=True)"


def series(slope, *, peak=0.0):
    """A process of 100 MB that gains so much each hour, half a minute a step, with a peak at the end."""
    points = [(number / 2, 100 + slope * number / 120) for number in range(1, 121)]
    return Series("web", [*points[:-1], (points[-1][0], points[-1][1] + peak)])


@pytest.mark.parametrize(
    ("slope", "peak", "passed"),
    [(0, 0, True), (5, 0, True), (-40, 0, True), (0, 300, True), (15, 0, False), (200, 0, False)],
)
def test_a_process_grows_if_its_last_minutes_are_above_those_after_the_first_third(slope, peak, passed):  # fmt: skip
    line = memory.growth_line(series(slope, peak=peak), MINUTES)
    assert line.passed is passed
    assert line.figures["MB at 20 min"] == pytest.approx(100 + slope / 3, abs=0.1)
    assert line.figures["MB/h after 20 min"] == pytest.approx(slope, abs=40)  # a peak tilts it


def test_growth_before_the_first_third_does_not_count():
    points = [(number / 2, min(50 + number, 100.0)) for number in range(1, 121)]
    assert memory.growth_line(Series("web", points), MINUTES).passed


def test_a_store_may_grow_up_to_its_limit():
    assert memory.limit_line(series(200), MINUTES, 400).passed
    assert memory.limit_line(series(200), MINUTES, 250).passed is False


def test_processes_are_followed_by_their_ids_and_one_that_ends_is_told():
    shell = ["sh", "-c", f"sleep 60 & exec {sys.executable} -c '{GROW}'"]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            watch = Watch({"web": process.pid}, {"store": [os.getpid()]})
            feed(process)
            wait_until(lambda: len(list(memory.tree(process.pid))) == 2, "sleep runs")
            watch.look(1)
            feed(process)
            watch.look(2)
            [web] = [one for one in watch.lasting if one.name == "web"]
            assert web.points[1][1] - web.points[0][1] > 6
            assert [one.name for one in watch.lasting] == ["web", "web, process 1"]
            assert watch.stores["store"].points[0][1] > 10
            [_self, sleep] = memory.tree(process.pid)
            os.kill(sleep, 9)
            wait_until(lambda: not memory.kilobytes(sleep), "sleep has ended")
            watch.look(3)
            assert watch.ended == ["web, process 1"]
            *_lines, ended = memory.lines(watch, 3, {})
            assert ended.passed is False
        finally:
            process.kill()


def feed(process):
    """Let it take eight more megabytes."""
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.stdout.readline()


def test_bytes_are_those_of_a_post_and_of_a_day(tmp_path):
    def look(posts, seconds, rows, wal):
        table = disk.Table(rows, rows // 2, posts, 0, 0)
        return disk.Disk(
            seconds, posts, {"posts_post": table}, wal, 16 << 20, {"media": posts * 10}
        )

    lines = {
        line.what: line for line in disk.lines(look(0, 0, 0, 0), look(100, 864, 20_000, 50_000))
    }
    assert lines["posts_post"].ours.median == 300
    assert lines["posts_post"].figures["bytes per row added"] == 300
    assert lines["posts_post"].note.startswith("A post. ")
    assert lines["media"].ours.median == 10
    assert lines["write-ahead log"].figures["MB per day in this run"] == 5.0
    assert (
        lines["tables that lose no rows with time"].figures["MB per day with 100,000 posts"] == 30.0
    )


def test_tables_that_are_emptied_after_a_time_are_apart():
    def look(size):
        tables = {"events_event": disk.Table(size, 0, 1, 0, 0)}
        return disk.Disk(size, size, tables, 0, 0, {})

    lines = {line.what: line for line in disk.lines(look(0), look(1000))}
    assert lines["tables whose rows are deleted after a time"].ours.median == 1
    assert lines["tables that lose no rows with time"].ours.median == 0
