"""Faults that the injector causes on real servers."""

import time
from types import SimpleNamespace
from typing import Any

from runner.services.redis import Redis, ask
from tools.drill.faults import TIMELINES, Fault, Kind
from tools.drill.injector import Injector


def test_a_redis_without_memory_reads_and_refuses_to_write_until_the_fault_ends(tmp_path):
    redis = Redis(tmp_path / "data", tmp_path, tmp_path)
    redis.start()
    try:
        ask(redis.socket, b"SET post 1\r\n")
        site: Any = SimpleNamespace(redis={TIMELINES: redis}, clocks=None)
        nobody: Any = SimpleNamespace(by_name={})
        notes: Any = SimpleNamespace(note=lambda **_line: None)
        injector = Injector(site, nobody, notes)
        injector.load([Fault(0.0, Kind.FULL, TIMELINES, 60.0)], start=time.monotonic())
        injector.step()
        assert ask(redis.socket, b"SET post 2\r\n").startswith(b"-OOM")
        assert ask(redis.socket, b"GET post\r\n") == b"$1\r\n1\r\n"
        injector.heal_all()
        assert ask(redis.socket, b"SET post 2\r\n") == b"+OK\r\n"
        assert injector.away  # pages may lack what was written meanwhile
    finally:
        redis.stop()
