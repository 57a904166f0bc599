"""The budget of a request: its time, and what it went without."""

from django.http import HttpResponse

from apps.deadline import budget, missing, note_missing, seconds_left
from feedsite.middleware.deadline import DeadlineMiddleware


def test_outside_of_a_request_nothing_is_limited_or_noted():
    note_missing("pulled")
    assert seconds_left(0.5) == 0.5
    assert missing() == []


def test_a_source_gets_no_more_than_is_left():
    with budget(10):
        assert seconds_left(0.5) == 0.5
        assert 9 < seconds_left(60) <= 10
    with budget(0):
        assert seconds_left(0.5) == 0


def test_what_is_missing_is_noted_once_and_forgotten_with_the_request():
    with budget(1):
        note_missing("pulled")
        note_missing("database")
        note_missing("pulled")
        assert missing() == ["database", "pulled"]
    assert missing() == []


def test_every_answer_names_what_is_missing_from_it(rf):
    def view(_request):
        note_missing("pulled")
        return HttpResponse()

    answer = DeadlineMiddleware(view)(rf.get("/"))
    assert answer.headers["X-Feed-Degraded"] == "pulled"
    assert "X-Feed-Degraded" not in DeadlineMiddleware(lambda _request: HttpResponse())(rf.get("/"))
