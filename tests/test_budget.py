"""The budget of a request: its time, and what it went without."""

from django.http import HttpResponse

from apps.deadline import budget, go_without, missing, seconds_left, show
from feedsite.middleware.deadline import DeadlineMiddleware


def test_outside_of_a_request_nothing_is_limited_or_noted():
    go_without("pulled")
    show({1})
    assert seconds_left(0.5) == 0.5
    assert missing() == []


def test_a_source_gets_no_more_than_is_left():
    with budget(10):
        assert seconds_left(0.5) == 0.5
        assert 9 < seconds_left(60) <= 10
    with budget(0):
        assert seconds_left(0.5) == 0


def test_what_is_missing_is_noted_once_and_forgotten_with_the_request():
    with budget(1) as mine:
        go_without("pulled")
        go_without("database")
        go_without("pulled")
        show({3, 4})
        assert missing() == ["database", "pulled"]
        assert mine.shown == {3, 4}
    assert missing() == []


def test_every_answer_names_what_is_missing_from_it(rf):
    def view(_request):
        go_without("pulled")
        return HttpResponse()

    answer = DeadlineMiddleware(view)(rf.get("/"))
    assert answer.headers["X-Feed-Degraded"] == "pulled"
    assert "X-Feed-Degraded" not in DeadlineMiddleware(lambda _request: HttpResponse())(rf.get("/"))
