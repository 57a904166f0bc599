"""More requests than a process can bear: the excess is refused at once, the rest is served as ever."""

import threading
import time

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from apps.http.interfaces import InterfaceClass
from feedsite.middleware.load_shedding import LoadSheddingMiddleware, Seats
from tests.support.threads import together
from tests.support.waiting import wait_until

PATH = "/public"


def seats(settings, number, queue=12, seconds=5):
    """As many for every class of interfaces."""
    settings.WEB_CONCURRENCY = dict.fromkeys(InterfaceClass, number)
    settings.WEB_QUEUE = dict.fromkeys(InterfaceClass, queue)
    settings.WEB_QUEUE_SECONDS = seconds


@pytest.fixture
def small(settings):
    seats(settings, 2, 2)


class Counted:
    """A view that knows how many are in it at once, and lets them go when it is told to."""

    def __init__(self):
        self.lock, self.go = threading.Lock(), threading.Event()
        self.inside = self.maximum = self.served = 0

    def __call__(self, _request):
        with self.lock:
            self.inside += 1
            self.maximum = max(self.maximum, self.inside)
        assert self.go.wait(20)
        with self.lock:
            self.inside -= 1
            self.served += 1
        return HttpResponse("page")


def test_beyond_the_seats_and_the_queue_everybody_is_refused(settings):
    seats(settings, 2, 2, 20)
    view = Counted()
    site = LoadSheddingMiddleware(view)
    refused = []

    def ask(_n):
        answer = site(RequestFactory().get(PATH))
        if answer.status_code == 503:
            refused.append(answer)
        if len(refused) == 16:
            view.go.set()
        return answer.status_code

    codes = together(20, ask)
    assert codes.count(200) == 4, "two in their seats and two in the queue"
    assert codes.count(503) == 16
    assert view.maximum == 2
    assert refused[0].headers["Retry-After"] == "1"
    assert b"very busy" in refused[0].getvalue()


@pytest.mark.slow
def test_ten_times_too_many_take_nothing_from_what_is_served(small):
    view = Counted()
    view.go.set()
    codes = []

    def slow(request):
        time.sleep(0.01)
        return view(request)

    site = LoadSheddingMiddleware(slow)

    def insist(_n):
        while view.served < 100:
            codes.append(site(RequestFactory().get(PATH)).status_code)
            time.sleep(0.001)

    together(20, insist)
    assert view.maximum <= 2
    assert 100 <= codes.count(200) == view.served
    assert codes.count(503) > codes.count(200)
    assert set(codes) == {200, 503}
    assert site(RequestFactory().get(PATH)).status_code == 200, "recovered at once"


def test_who_waits_too_long_is_refused(settings):
    seats(settings, 1, 10, 0.05)
    view = Counted()
    site = LoadSheddingMiddleware(view)
    refused = []

    def ask(_n):
        code = site(RequestFactory().get(PATH)).status_code
        if code == 503:
            refused.append(code)
        if len(refused) == 2:
            view.go.set()
        return code

    assert sorted(together(3, ask)) == [200, 503, 503]


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
    wait_until(lambda: len(codes) == 25, "all but five are answered")
    assert codes == [503] * 25, "two search, three wait"
    core = [site(RequestFactory().get(path)).status_code for path in ("/", "/home", "/@alice") * 10]
    writes = [site(RequestFactory().post("/posts")).status_code for _ in range(10)]
    assert (core, writes) == ([200] * 30, [200] * 10)
    view.go.set()
    for one in flood:
        one.join()
    assert sorted(codes) == [200] * 5 + [503] * 25
    assert site(RequestFactory().get("/search")).status_code == 200, "and the rest again"


class Flood:
    """Many requests of one member at once, which all last until they are let go."""

    def __init__(self, number, **headers):
        self.view, self.codes = Counted(), []
        self.site = LoadSheddingMiddleware(self._serve)
        self.headers = headers
        self.threads = [threading.Thread(target=self._ask) for _ in range(number)]

    def _serve(self, request):
        return self.view(request) if "slow" in request.GET else HttpResponse("page")

    def _ask(self):
        answer = self.site(RequestFactory().get("/home?slow", **self.headers))
        self.codes.append(answer.status_code)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_exception):
        self.view.go.set()
        for thread in self.threads:
            thread.join()


MEMBERS = [{"HTTP_AUTHORIZATION": "Bearer one"}, {"HTTP_COOKIE": "sessionid=one"}]


@pytest.mark.parametrize("member", MEMBERS, ids=["token", "session"])
def test_one_member_takes_half_of_the_seats_and_the_others_are_served(settings, member):
    seats(settings, 4, 24, 20)
    with Flood(20, **member) as flood:
        wait_until(lambda: flood.view.inside == 2 and len(flood.codes) == 6, "the rest is refused")
        assert flood.codes == [429] * 6, "two seats, twelve in the queue"
        others = [flood.site(RequestFactory().get("/public")).status_code for _ in range(20)]
        others += [
            flood.site(RequestFactory().get("/home", HTTP_AUTHORIZATION="Bearer two")).status_code
        ]
        assert others == [200] * 21
    assert flood.view.maximum == 2
    assert sorted(flood.codes) == [200] * 14 + [429] * 6
    assert flood.site(RequestFactory().get("/home", **member)).status_code == 200


def test_who_waits_for_requests_of_ones_own_is_told_so(settings):
    seats(settings, 4, 24, 0.05)
    with Flood(5, HTTP_AUTHORIZATION="Bearer one") as flood:
        wait_until(lambda: len(flood.codes) == 3, "three have waited for too long")
        assert flood.codes == [429] * 3
        path = "/api/v1/timelines/home?slow"
        answer = flood.site(RequestFactory().get(path, HTTP_AUTHORIZATION="Bearer one"))
        assert b"Too many requests" in answer.getvalue()
        assert answer.headers["Retry-After"] == "1"


def test_visitors_share_all_seats(settings):
    seats(settings, 4, 24, 20)
    with Flood(6) as flood:
        wait_until(lambda: flood.view.inside == 4, "all seats are taken")
    assert flood.codes == [200] * 6


def test_a_seat_goes_to_whoever_may_have_it_and_has_waited_longest(settings):
    seats(settings, 2, 24, 20)
    held = Seats(2, 24)
    assert held.acquire("one") is held.acquire("two") is None
    order = []

    def wait(client):
        assert held.acquire(client) is None
        order.append(client)

    threads = []
    for client in ("one", "three", "two"):
        threads.append(threading.Thread(target=wait, args=[client]))
        threads[-1].start()
        wait_until(lambda: len(held._waiting) == len(threads), "it waits")
    held.release("two")  # "one" has its share: one seat of two
    wait_until(lambda: order == ["three"], "the seat goes on")
    held.release("one")
    wait_until(lambda: order == ["three", "one"], "and now its own")
    held.release("three")
    wait_until(lambda: order == ["three", "one", "two"], "and the last")
    for thread in threads:
        thread.join()
