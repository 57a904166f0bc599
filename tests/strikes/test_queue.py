"""The queue of reports: which ones, in which order, page by page."""

import pytest

from apps.moderation.actions import assign_report, file_report, resolve_report
from apps.moderation.models import Report
from apps.strikes import queries
from apps.strikes.actions import decide
from tests.support.cases import each
from tests.support.factories import make_user, publish
from tests.support.staff import MAX_QUERIES, browser_of, make_staff

pytestmark = pytest.mark.django_db
QUEUE = "/admin/moderation/report/queue/"


@pytest.fixture
def mod():
    return make_staff("moderation.view_report", "moderation.change_report", handle="mod")


@pytest.fixture
def reports(alice, carol, mod):
    """Open and mine, open and nobody's (in Chinese), resolved."""
    texts = (("One.", "en-GB"), ("二。", "zh"), ("Three.", ""))
    posts = [publish(alice, text, language=language) for text, language in texts]
    mine, free, done = (file_report(carol, alice, post_ids=[post.pk]) for post in posts)
    assign_report(mine, by=mod, to=mod)
    resolve_report(done, by=mod, outcome="Talked.")
    return {"mine": mine, "free": free, "done": done}


def listed(browser, query=""):
    """The numbers of the reports on a page, in order, and its address of the next page."""
    answer = browser.get(f"{QUEUE}{query}")
    assert answer.status_code == 200
    return [row.report.pk for row in answer.context["rows"]], answer.context["older"]


@pytest.mark.long
@each("query, names", [
    ("", ["mine", "free"]),
    ("?state=open", ["mine", "free"]),
    ("?state=mine", ["mine"]),
    ("?state=unassigned", ["free"]),
    ("?state=resolved", ["done"]),
    ("?language=zh", ["free"]),
    ("?language=en", ["mine"]),
    ("?state=mine&language=zh", []),
    ("?language=xx", []),
])  # fmt: skip
def test_filters(reports, mod, query, names):
    assert listed(browser_of(mod), query)[0] == [reports[name].pk for name in names]


@each("query", ["?state=x", "?after=x", "?after=-1", f"?after={'9' * 30}"])
def test_what_is_no_filter_is_refused(mod, query):
    assert browser_of(mod).get(f"{QUEUE}{query}").status_code == 400


@pytest.mark.slow
@each("state", ["open", "resolved"])
def test_pages_have_every_report_once_while_others_come_and_go(mod, alice, carol, state, monkeypatch):  # fmt: skip
    monkeypatch.setattr(queries, "PER_PAGE", 2)
    monkeypatch.setattr("apps.moderation.actions.check_rate_limit", lambda *_a, **_k: None)
    made = [file_report(carol, alice) for _time in range(5)]
    if state == "resolved":
        for report in made:
            resolve_report(report, by=mod, outcome="")
        made.reverse()
    browser, found, query = browser_of(mod), [], f"?state={state}"
    while query:
        numbers, query = listed(browser, query)
        found += numbers
        Report.objects.filter(pk=found[0]).delete()
    assert found == [report.pk for report in made]


def test_a_row_says_what_is_reported(alice, carol, mod):
    posts = [publish(alice, "You are all fools.").pk, publish(alice).pk]
    file_report(carol, alice, comment="Look at this.", category="spam", post_ids=posts)
    text = browser_of(mod).get(QUEUE).text
    for part in ("@alice", "It is spam", "You are all fools.", "Look at this.", "2 posts in all"):
        assert part in text


def test_a_resolved_report_without_a_strike_of_its_own_is_not_called_dismissed(
    alice, bob, carol, mod
):
    """A suspension closes every report about the account, and is on record with one of them."""
    reports = [file_report(bob, alice), file_report(carol, alice)]
    decide(reports[0], "suspend", by=make_staff(superuser=True), text="Spam.")
    assert "Dismissed" not in browser_of(mod).get(f"{QUEUE}?state=resolved").text


def test_texts_for_few_are_not_in_the_queue(alice, bob, mod):
    file_report(bob, alice, post_ids=[publish(alice, "For few.", visibility="followers").pk])
    assert "For few." not in browser_of(mod).get(QUEUE).text


def test_queries_do_not_grow(alice, carol, mod, django_assert_max_num_queries, monkeypatch):
    monkeypatch.setattr("apps.moderation.actions.check_rate_limit", lambda *_a, **_k: None)
    for number in range(5):
        person = make_user(f"person{number}")
        file_report(carol, person, post_ids=[publish(person).pk])
    browser = browser_of(mod)
    browser.get(QUEUE)
    with django_assert_max_num_queries(MAX_QUERIES):
        browser.get(QUEUE)


@each("author, reader, expected", [("de", "en", "de"), ("", "zh-hans", "zh"), ("", "", "")])
def test_without_posts_the_language_is_of_the_account_or_of_the_reporter(author, reader, expected):
    target = make_user(post_language=author)
    report = file_report(make_user(interface_language=reader), target)
    assert report.language == expected


def test_the_first_page_of_staff_and_the_table_lead_to_the_queue(reports, mod):
    browser = browser_of(mod)
    assert QUEUE in browser.get("/admin/").text
    assert QUEUE in browser.get("/admin/moderation/report/").text
