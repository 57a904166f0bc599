"""The parts of the site benchmark that can be right or wrong by themselves."""

import os
import time

from bench.site.clock import seconds_of
from bench.site.load import Ask


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
