"""Accounts for programs of staff: lists and filters, measures and their ways back, each on record once."""

import pytest
from django.contrib.admin.models import LogEntry

from apps.accounts.models import User
from apps.moderation.actions import file_report, freeze_user, limit_user, suspend_user
from apps.moderation.models import Report
from apps.strikes.actions import answer_appeal, appeal
from apps.strikes.models import Strike
from tests.admin_api.conftest import SCOPES
from tests.support.factories import make_user
from tests.support.staff import make_staff
from tests.support.threads import together

pytestmark = pytest.mark.django_db
V1, V2 = "/api/v1/admin/accounts", "/api/v2/admin/accounts"


def names(program, query, path=V1):
    answer = program.get(f"{path}?{query}")
    assert answer.status_code == 200, answer.json()
    return [one["username"] for one in answer.json()]


def act(program, user, measure, **fields):
    body = {"type": measure, **fields}
    return program.post(f"{V1}/{user.pk}/action", body, format="json")


def log():
    rows = LogEntry.objects.order_by("pk").select_related("user")
    return [(row.user.handle, row.object_id, row.change_message) for row in rows]


@pytest.fixture
def people(alice, bob, carol, mod):
    chief = make_staff(superuser=True, handle="chief")
    limit_user(alice, by=chief)
    freeze_user(bob, by=chief)
    suspend_user(carol, by=chief, reason="Spam.")
    make_user("dana", display_name="Ünal", email="dana@elsewhere.example")


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["dana", "chief", "mod", "carol", "bob", "alice"]),
        ("local=true", ["dana", "chief", "mod", "carol", "bob", "alice"]),
        ("remote=true", []),
        ("active=true", ["dana", "chief", "mod", "alice"]),
        ("active=false", ["dana", "chief", "mod", "carol", "bob", "alice"]),
        ("disabled=1", ["bob"]),
        ("suspended=true", ["carol"]),
        ("pending=true", []),
        ("silenced=true", ["alice"]),
        ("sensitized=true", []),
        ("staff=true", ["chief", "mod"]),
        ("staff=true&disabled=true", []),
        ("username=@ALI", ["alice"]),
        ("username=li", []),
        ("display_name=alice w", ["alice"]),
        ("display_name=%C3%9Cn", ["dana"]),
        ("email=DANA@else", ["dana"]),
        ("by_domain=mastodon.example", []),
        ("by_domain=127.0.0.1", ["dana", "chief", "mod", "carol", "bob", "alice"]),
    ],
)
def test_the_filters_of_the_first_version(people, program, settings, query, expected):
    settings.SITE_URL = "http://127.0.0.1:8000"
    staff = ["chief", "mod"]
    found = names(program, query)
    assert sorted(found) == sorted(expected)
    assert [one for one in found if one not in staff] == [x for x in expected if x not in staff]


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("origin=local", 6),
        ("origin=remote", 0),
        ("status=active", 4),
        ("status=disabled", 1),
        ("status=suspended", 1),
        ("status=pending", 0),
        ("status=silenced", 1),
        ("permissions=staff", 2),
        ("role_ids[]=1", 1),
        ("role_ids[]=1&role_ids[]=2", 2),
        ("role_ids[]=0&status=active", 2),
        ("role_ids[]=17", 0),
        ("username=al&email=alice&display_name=alice", 1),
    ],
)
def test_the_filters_of_the_second_version(people, program, query, expected):
    assert len(names(program, query, V2)) == expected


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        (V1, "active=perhaps", 400),
        (V1, "max_id=x", 400),
        (V1, "limit=x", 400),
        (V2, "status=lost", 400),
        (V2, "origin=here", 400),
        (V2, "permissions=all", 400),
        (V1, "ip=10.0.0.1", 422),
        (V2, "ip=10.0.0.1", 422),
        (V2, "invited_by=1", 422),
    ],
)
def test_what_cannot_be_filtered_by_is_not_ignored(program, path, query, status):
    assert program.get(f"{path}?{query}").status_code == status


@pytest.mark.parametrize("path", [V1, V2])
def test_pages_follow_each_other(program, path):
    made = [make_user(f"user{number}").pk for number in range(5)]
    answer = program.get(f"{path}?username=user&limit=2")
    found = [int(one["id"]) for one in answer.json()]
    assert 'rel="next"' in answer.headers["Link"]
    assert "username=user" in answer.headers["Link"]
    while 'rel="next"' in answer.headers.get("Link", ""):
        answer = program.get(answer.headers["Link"].partition(">")[0].removeprefix("<"))
        found += [int(one["id"]) for one in answer.json()]
    assert found == made[::-1]
    above = program.get(f"{path}?username=user&limit=2&min_id={made[0]}").json()
    assert [int(one["id"]) for one in above] == [made[2], made[1]]


def test_a_list_takes_the_same_queries_for_one_and_for_many(program, django_assert_max_num_queries):
    make_user("user_a")
    program.get(V1)
    # two for the rights of the caller, two for the second factor, and the list; more with cold caches
    with django_assert_max_num_queries(8) as few:
        assert names(program, "username=user") == ["user_a"]
    for number in range(5):
        make_user(f"user_{number}")
    with django_assert_max_num_queries(len(few)):
        assert len(names(program, "username=user")) == 6


def test_an_account_as_staff_see_it(program, alice):
    body = program.get(f"{V1}/{alice.pk}").json()
    assert {**body, "created_at": "", "account": body["account"]["username"]} == {
        "id": str(alice.pk), "username": "alice", "domain": None, "created_at": "", "email": "alice@example.org",
        "ip": None, "ips": [], "locale": None, "invite_request": None,
        "role": {"id": "0", "name": "", "color": "", "permissions": "0", "highlighted": False},
        "confirmed": True, "approved": True, "disabled": False, "silenced": False, "suspended": False,
        "sensitized": False, "account": "alice",
    }  # fmt: skip
    assert program.get(f"{V1}/{alice.pk + 1000}").status_code == 404
    assert program.get(f"{V1}/{10**18}").status_code == 404


def test_an_address_that_waits_for_its_confirmation_is_shown_as_such(program):
    user = make_user("new", email=None, pending_email="new@example.org")
    body = program.get(f"{V1}/{user.pk}").json()
    assert (body["email"], body["confirmed"]) == ("new@example.org", False)


@pytest.mark.parametrize(
    ("measure", "state", "back", "messages"),
    [
        ("silence", "silenced", "unsilence", ["Limited: Rude.", "Not limited any more."]),
        ("disable", "disabled", "enable", ["Frozen: Rude.", "Not frozen any more."]),
        ("suspend", "suspended", "unsuspend", ["Suspended: Rude.", "Restored."]),
    ],
)
def test_a_measure_is_taken_and_taken_back(alice, program, measure, state, back, messages):
    assert act(program, alice, measure, text="Rude.").json() == {}
    assert program.get(f"{V1}/{alice.pk}").json()[state] is True
    strike = Strike.objects.get()
    assert (strike.user, strike.by.handle, strike.text, strike.undone_at) == (
        alice,
        "mod",
        "Rude.",
        None,
    )
    assert act(program, alice, measure, text="Again.").status_code == 200  # it is there already
    assert program.post(f"{V1}/{alice.pk}/{back}").json()[state] is False
    assert program.post(f"{V1}/{alice.pk}/{back}").status_code == 200
    strike.refresh_from_db()
    assert strike.undone_by.handle == "mod"
    assert Strike.objects.count() == 1
    assert log() == [("mod", str(alice.pk), message) for message in messages]


def test_a_suspension_has_priority(alice, program):
    act(program, alice, "suspend")
    assert program.post(f"{V1}/{alice.pk}/enable").status_code == 403
    assert program.get(f"{V1}/{alice.pk}").json()["suspended"] is True
    alice.refresh_from_db()
    assert not alice.is_active


def test_a_warning_is_a_strike_that_can_be_appealed(alice, mod, program):
    assert act(program, alice, "none", text="Please be kind.").status_code == 200
    strike = Strike.objects.get()
    assert (strike.measure, strike.text) == ("warn", "Please be kind.")
    answer_appeal(appeal(strike, text="I am."), by=mod, is_accepted=True)
    assert [message for *_who, message in log()] == [
        "Warned: Please be kind.",
        "Appeal accepted.",
        "Warning withdrawn.",
    ]


@pytest.mark.parametrize(("measure", "kind"), [("none", "warn"), ("suspend", "suspend")])
def test_a_measure_decides_the_report_that_it_names(alice, report, mod, program, measure, kind):
    answer = act(program, alice, measure, text="Rude.", report_id=str(report.pk))
    assert answer.status_code == 200
    report.refresh_from_db()
    assert (report.resolved_by, report.outcome) == (mod, "Rude.")
    strike = Strike.objects.get()
    assert (strike.measure, strike.report, strike.rule_ids) == (kind, report, [1])
    again = act(program, alice, measure, report_id=str(report.pk))
    assert again.status_code == 409
    assert Strike.objects.count() == 1


def test_the_report_has_to_be_about_the_account(alice, bob, report, program):
    assert act(program, bob, "suspend", report_id=str(report.pk)).status_code == 404
    bob.refresh_from_db()
    assert bob.is_active


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"type": "sensitive"}, "no_such_measure"),
        ({"type": "none", "warning_preset_id": "1"}, "no_presets"),
        ({"type": "banish"}, "validation_failed"),
        ({}, "validation_failed"),
        ({"type": "none", "report_id": "x"}, "validation_failed"),
        ({"type": "none", "text": "x" * 1001}, "validation_failed"),
    ],
)
def test_what_the_site_cannot_do_is_refused(alice, program, fields, code):
    answer = program.post(f"{V1}/{alice.pk}/action", fields, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert Strike.objects.count() == 0


@pytest.mark.parametrize("name", ["unsensitive", "approve", "reject"])
def test_ways_back_from_states_that_there_are_not_are_refused(alice, program, name):
    answer = program.post(f"{V1}/{alice.pk}/{name}")
    assert (answer.status_code, answer.json()["code"]) == (422, "no_such_measure")
    assert program.post(f"{V1}/{alice.pk + 1000}/{name}").status_code == 404


@pytest.mark.slow
def test_nobody_decides_about_themselves_or_about_who_has_all_rights(mod, program):
    chief = make_staff(superuser=True, handle="chief")
    for user in (mod, chief):
        for measure in ("none", "silence", "disable", "suspend"):
            assert act(program, user, measure).status_code == 403
        for back in ("unsilence", "enable", "unsuspend"):
            program.post(f"{V1}/{user.pk}/{back}")
    assert log() == []
    assert User.objects.filter(is_active=False).count() == 0


def test_a_measure_needs_its_own_right(alice, api_of):
    warner = make_staff("accounts.view_user", "moderation.change_report")
    freezer = make_staff("accounts.change_user")
    assert act(api_of(warner, SCOPES), alice, "disable").status_code == 403
    assert act(api_of(freezer, SCOPES), alice, "none").status_code == 403
    assert act(api_of(warner, SCOPES), alice, "none").status_code == 200
    assert act(api_of(freezer, SCOPES), alice, "disable").status_code == 200


@pytest.fixture
def without_strikes(monkeypatch):
    monkeypatch.setattr("apps.admin_api.actions.apps.is_installed", lambda name: False)


def test_without_strikes_a_report_is_decided_as_in_the_table(
    alice, report, mod, program, without_strikes
):
    assert act(program, alice, "none").json()["code"] == "no_warnings"
    assert act(program, alice, "none", report_id=str(report.pk)).status_code == 422
    assert act(program, alice, "suspend", text="Rude.", report_id=str(report.pk)).json() == {}
    report.refresh_from_db()
    alice.refresh_from_db()
    assert (report.outcome, alice.is_suspended) == ("Rude.", True)
    assert act(program, alice, "suspend", report_id=str(report.pk)).status_code == 409


@pytest.mark.django_db(transaction=True)
def test_two_moderators_suspend_once(alice, carol, api_of):
    programs = [api_of(make_staff(superuser=True), SCOPES) for _each in range(4)]
    reports = [file_report(carol, alice).pk, file_report(make_user(), alice).pk]
    fields = [{}, {}, *({"report_id": str(report)} for report in reports)]

    def suspend(number):
        return act(programs[number], alice, "suspend", **fields[number]).status_code

    answers = together(4, suspend)
    assert set(answers) <= {200, 409}
    assert Strike.objects.filter(undone_at=None).count() == 1
    assert Report.objects.filter(resolved_at=None).count() == 0
