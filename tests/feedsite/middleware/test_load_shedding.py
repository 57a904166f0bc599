"""More requests than a process can bear: the excess is refused at once, the rest is served as ever."""

import threading
import time

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from apps.http.interfaces import InterfaceClass
from feedsite.middleware.load_shedding import LoadSheddingMiddleware
from tests.support.processes import wait_for
from tests.support.threads import together

PATH = "/public"


def seats(settings, number, queue=12, seconds=5):
    """As many for every class of interfaces."""
    settings.WEB_CONCURRENCY = dict.fromkeys(InterfaceClass, number)
    settings.WEB_QUEUE = dict.fromkeys(InterfaceClass, queue)
    settings.WEB_QUEUE_SECONDS = seconds


@pytest.fixture
def small(settings):
    seats(settings, 2, 2)


class Slow:
    """A view that knows how many are in it at once."""

    def __init__(self, seconds):
        self.seconds, self.lock = seconds, threading.Lock()
        self.inside = self.maximum = self.served = 0

    def __call__(self, _request):
        with self.lock:
            self.inside += 1
            self.maximum = max(self.maximum, self.inside)
        time.sleep(self.seconds)
        with self.lock:
            self.inside -= 1
            self.served += 1
        return HttpResponse("page")


def test_beyond_the_seats_and_the_queue_everybody_is_refused(small):
    view = Slow(0.3)
    site = LoadSheddingMiddleware(view)
    answers = together(20, lambda _n: site(RequestFactory().get(PATH)))
    codes = [answer.status_code for answer in answers]
    assert codes.count(200) == 4, "two in their seats and two in the queue"
    assert codes.count(503) == 16
    assert view.maximum == 2
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused.headers["Retry-After"] == "1"
    assert b"Too many people" in refused.content


def test_ten_times_too_many_take_nothing_from_what_is_served(small):
    view, stop = Slow(0.01), threading.Event()
    site = LoadSheddingMiddleware(view)
    codes = []

    def insist(_n):
        while not stop.is_set():
            codes.append(site(RequestFactory().get(PATH)).status_code)
            time.sleep(0.001)

    timer = threading.Timer(1.0, stop.set)
    timer.start()
    together(20, insist)
    timer.join()
    assert view.maximum == 2
    assert 0 < codes.count(200) == view.served
    assert codes.count(503) > codes.count(200)
    assert set(codes) == {200, 503}
    assert site(RequestFactory().get(PATH)).status_code == 200, "recovered at once"


def test_who_waits_too_long_is_refused(settings):
    seats(settings, 1, 10, 0.05)
    site = LoadSheddingMiddleware(Slow(0.5))
    codes = [one.status_code for one in together(3, lambda _n: site(RequestFactory().get(PATH)))]
    assert sorted(codes) == [200, 503, 503]


def test_programs_get_problem_json_and_health_is_never_refused(settings):
    seats(settings, 1, 1, 0.05)
    view, go = threading.Event(), threading.Event()

    def waits(_request):
        view.set()
        go.wait(10)
        return HttpResponse("page")

    site = LoadSheddingMiddleware(waits)
    first = threading.Thread(target=lambda: site(RequestFactory().get(PATH)))
    first.start()
    view.wait(10)
    answer = site(RequestFactory().get("/api/v1/timelines/public"))
    go.set()
    first.join()
    assert answer.status_code == 503
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Retry-After"] == "1"
    assert site(RequestFactory().get("/healthz/live")).status_code == 200


def test_a_view_that_fails_gives_its_seat_back(settings):
    seats(settings, 1)

    def broken(_request):
        raise RuntimeError("boom")

    site = LoadSheddingMiddleware(broken)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            site(RequestFactory().get(PATH))


def test_who_waits_for_a_slow_server_holds_up_nobody(settings):
    seats(settings, 4)
    all_in = threading.Barrier(4)

    def view(_request):
        all_in.wait(10)  # none goes on before four are in
        return HttpResponse("page")

    site = LoadSheddingMiddleware(view)
    answers = together(4, lambda _n: site(RequestFactory().get(PATH)))
    assert [answer.status_code for answer in answers] == [200] * 4


class Held:
    """A view whose searches last until they are let go; everything else is answered at once."""

    def __init__(self, expected):
        self.expected, self.inside = expected, 0
        self.lock, self.full, self.go = threading.Lock(), threading.Event(), threading.Event()

    def __call__(self, request):
        if request.path == "/search":
            with self.lock:
                self.inside += 1
                if self.inside == self.expected:
                    self.full.set()
            assert self.go.wait(20)
        return HttpResponse("page")


def test_a_flood_of_the_rest_leaves_core_reads_and_writes_served(settings):
    seats(settings, 2, 3, 20)
    view = Held(expected=2)
    site = LoadSheddingMiddleware(view)
    codes = []
    flood = [
        threading.Thread(
            target=lambda: codes.append(site(RequestFactory().get("/search")).status_code)
        )
        for _ in range(30)
    ]
    for one in flood:
        one.start()
    assert view.full.wait(20)
    assert wait_for(lambda: len(codes) == 25, 20)
    assert codes == [503] * 25, "two search, three wait"
    core = [site(RequestFactory().get(path)).status_code for path in ("/", "/home", "/@alice") * 10]
    writes = [site(RequestFactory().post("/posts")).status_code for _ in range(10)]
    assert (core, writes) == ([200] * 30, [200] * 10)
    view.go.set()
    for one in flood:
        one.join()
    assert sorted(codes) == [200] * 5 + [503] * 25
    assert site(RequestFactory().get("/search")).status_code == 200, "and the rest again"
