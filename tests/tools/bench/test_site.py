"""The parts of the site benchmark that can be right or wrong by themselves."""

import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from tests.support.waiting import wait_until
from tools.bench import servers
from tools.bench.peers import takahe
from tools.bench.peers.takahe import PeerError, interpreter
from tools.bench.progress import OvertimeError, within
from tools.bench.site import PEER, trips
from tools.bench.site.clock import megabytes_of, program_megabytes, seconds_of, waiting_of
from tools.bench.site.graph import make_graph, read_graph
from tools.bench.site.load import MISSING, Ask, program, put_load
from tools.bench.site.visitor import Visitor, bearer, in_turn, percentile

pytestmark = pytest.mark.flows


def test_processor_time_is_that_of_the_whole_tree():
    before = seconds_of([os.getpid()])
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    assert seconds_of([os.getpid()]) - before >= 0.25


def test_a_process_that_is_gone_took_nothing():
    assert seconds_of([2**22 + 1]) == 0


def test_a_request_is_one_line_for_the_script():
    ask = Ask("/api/v1/timelines/home", ("Authorization", "Bearer rill_x"))
    assert ask.line == "GET /api/v1/timelines/home Authorization Bearer rill_x"


def test_a_load_is_what_wrk_says_of_it(tmp_path, monkeypatch):
    if program(tmp_path) is None:
        pytest.skip(MISSING)
    monkeypatch.chdir(tmp_path)  # an empty folder is served
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_what: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asks = [Ask("/"), Ask("/nowhere")]
        load = put_load(server.server_port, asks, tmp_path, seconds=1, connections=2)
        server.shutdown()
    assert load.requests > 2
    assert load.errors > 0, "half of them are not found"
    assert 0 < load.p50 <= load.p95 <= load.p99 <= load.maximum < 20_000


def test_memory_is_that_of_the_whole_tree():
    before = megabytes_of([os.getpid()])
    with mmap.mmap(-1, 2**25) as block:  # pages that nobody had before, unlike those of the heap
        block.write(os.urandom(2**25))
        assert megabytes_of([os.getpid()]) - before > 2**5 - 2


def test_waiting_for_a_core_is_counted_for_all_threads():
    before = waiting_of([os.getpid()])
    children = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _core in range(2 * (os.cpu_count() or 1))
    ]
    try:
        # twice as many want to run as there are cores
        wait_until(lambda: waiting_of([os.getpid()]) - before > 0.1, "this process waits, too")
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_memory_is_said_by_program():
    found = program_megabytes(os.getpid())
    assert sum(found.values()) == pytest.approx(megabytes_of([os.getpid()]), rel=0.2)
    assert any(name.startswith("python") for name in found)


def test_a_site_of_its_own_gets_no_address_of_the_servers_of_the_bench(monkeypatch):
    monkeypatch.setattr(
        servers, "_outer", {"REDIS_URL": "redis://theirs", "HOME": "/home/somebody"}
    )
    monkeypatch.setattr(servers, "_own", {"REDIS_URL", "DATABASE_URL"})
    assert servers.outer_environment() == {"HOME": "/home/somebody", "FEEDSITE_VENV": sys.prefix}


def test_a_directory_without_takahe_is_said_to_be_none(tmp_path):
    with pytest.raises(PeerError, match=r"takahe/settings\.py is missing"):
        interpreter(tmp_path)
    (tmp_path / "takahe").mkdir()
    (tmp_path / "takahe" / "settings.py").touch()
    with pytest.raises(PeerError, match="BENCH_TAKAHE_PYTHON"):
        interpreter(tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert interpreter(tmp_path) == python


def test_without_a_checkout_takahe_is_not_measured(tmp_path, monkeypatch):
    monkeypatch.delenv(PEER, raising=False)
    (line,) = takahe.run(tmp_path)
    assert (line.passed, line.note) == (None, "not measured: no Takahē checkout was given")


def test_the_graph_that_is_made_has_the_shape_of_the_real_one():
    made = make_graph()
    followers = np.sort(np.bincount(made.followees))
    assert 13_000 < followers[-1] <= 14_060
    assert (followers > 2_000).sum() == pytest.approx(6, abs=5)
    assert np.median(np.bincount(made.followers, minlength=made.people)) == 1
    assert len(made.followers) == pytest.approx(328_132, rel=0.1)
    assert (made.followers != made.followees).all()


def test_a_graph_is_read_and_its_people_numbered(tmp_path):
    place = tmp_path / "edges.txt"
    place.write_text("# from to weight\n7 3 1\n7 9 2\n9 3 1\n9 3 4\n3 3 1\n")
    found = read_graph(place)
    assert found.people == 3
    assert list(zip(found.followers.tolist(), found.followees.tolist(), strict=True)) == [
        (1, 0),
        (1, 2),
        (2, 0),
    ]


@pytest.mark.waits("the sleep is what is ended")
def test_what_takes_too_long_ends():
    with pytest.raises(OvertimeError), within(0.05):
        time.sleep(3600)
    with within(3600):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_what_is_sent_before_an_answer_is_read_is_one_trip():
    near, far = socket.socketpair()
    other_near, other_far = socket.socketpair()
    with near, far, other_near, other_far, trips.counted() as found:
        for _trip in range(2):
            near.sendall(b"a")
            other_near.sendall(b"b")
            far.recv(1)
            other_far.recv(1)
    assert (found.trips, found.sent) == (2, 4)


def test_what_went_wrong_is_said_by_its_status(live_server):
    visitor = Visitor(live_server.thread.port)
    for path in ("/healthz/live", "/api/v1/timelines/home", "/nothing"):
        visitor.ask(path, bearer("nobody"))
    assert visitor.failures == {"401": 1, "404": 1}
    assert visitor.complaint == "2 errors (401: 1, 404: 1)"
    visitor.close()
    visitor.port = 1
    visitor.ask("/", bearer("nobody"))
    assert visitor.failures["ConnectionRefusedError"] == 1


def way(order, name, milliseconds):
    def ask():
        order.append(name)
        return milliseconds

    return ask


def test_ways_are_asked_in_turn_and_each_at_least_once():
    order = []
    taken = in_turn({name: way(order, name, 1.0) for name in "ab"}, rounds=3, seconds=0)
    assert order == ["a", "b"] * 3
    assert taken == {"a": [1.0] * 3, "b": [1.0] * 3}
    assert percentile([float(n) for n in range(100)], 95) == 95


def test_who_is_slow_is_not_asked_again():
    order = []
    in_turn({"a": way(order, "a", 1.0), "b": way(order, "b", 2e3)}, rounds=3, seconds=0)
    assert order == ["a", "b", "a", "a"]
