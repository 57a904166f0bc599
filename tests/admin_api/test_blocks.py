"""Blocks for programs of staff: those of sign-ups are read and changed; there are none of other sites."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError

from apps.admin_api.blocks import KINDS
from apps.sign_ups.actions import save_block
from apps.sign_ups.models import SignUpBlock
from tests.api.test_endpoints import application_client
from tests.support.cases import each
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db
ADMIN = "/api/v1/admin"
RANGE = {
    "ip": "203.0.113.7/24",
    "severity": "sign_up_block",
    "comment": "A wave.",
    "expires_in": 60,
}
NEW = {"username": "newcomer", "email": "New.comer+a@mail.example", "password": "a long enough passphrase",
       "agreement": True}  # fmt: skip


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_lists_of_other_sites_are_empty_and_nothing_is_added(program, name):
    address = f"{ADMIN}/{name}"
    answer = program.get(address)
    assert (answer.status_code, answer.json()) == (200, [])
    assert program.get(f"{address}?max_id=x").status_code == 400
    answer = program.post(address, {"domain": "mail.example"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "no_such_block")
    assert program.get(f"{address}/1").status_code == 404
    assert program.delete(f"{address}/1").status_code == 404
    assert program.put(f"{address}/1").status_code == (404 if name == "domain_blocks" else 405)


@pytest.mark.long
@each("kind, body", [
    ("email_domain_blocks", {"domain": "@Mail.Example"}),
    ("canonical_email_blocks", {"email": "newcomer@MAIL.example"}),
    ("ip_blocks", {"ip": "127.0.0.0/8", "severity": "sign_up_block"}),
])  # fmt: skip
def test_a_block_of_a_program_refuses_sign_ups_until_a_program_removes_it(program, mod, kind, body):
    row = program.post(f"{ADMIN}/{kind}", body, format="json").json()
    assert program.get(f"{ADMIN}/{kind}").json() == [row]
    assert program.get(f"{ADMIN}/{kind}/{row['id']}").json() == row
    newcomer = application_client()
    assert newcomer.post("/api/v1/accounts", NEW, format="json").status_code == 422
    others = {"email_domain_blocks", "canonical_email_blocks", "ip_blocks"} - {kind}
    for other in others:
        assert program.get(f"{ADMIN}/{other}").json() == []
        assert program.delete(f"{ADMIN}/{other}/{row['id']}").status_code == 404
    assert program.delete(f"{ADMIN}/{kind}/{row['id']}").json() == {}
    assert newcomer.post("/api/v1/accounts", NEW, format="json").status_code == 200
    assert list(LogEntry.objects.filter(user=mod).values_list("action_flag", flat=True)) == [3, 1]


def test_a_range_is_changed_by_what_is_given(program, mod):
    row = program.post(f"{ADMIN}/ip_blocks", RANGE, format="json").json()
    address = f"{ADMIN}/ip_blocks/{row['id']}"
    assert (row["ip"], row["comment"], SignUpBlock.objects.get().by) == (
        "203.0.113.0/24",
        "A wave.",
        mod,
    )
    changed = program.put(address, {"comment": ""}, format="json").json()
    assert changed == {**row, "comment": ""}
    changed = program.put(address, {"ip": "198.51.100.0/24"}, format="json").json()
    assert changed == {**row, "comment": "", "ip": "198.51.100.0/24"}
    later = program.put(address, {"expires_in": 3600}, format="json").json()
    assert later["expires_at"] > row["expires_at"]
    assert SignUpBlock.objects.count() == 1


@pytest.mark.slow
@each("kind, body, field", [
    ("email_domain_blocks", {"domain": "org"}, "domain"),
    ("email_domain_blocks", {"domain": "spam.example"}, "domain"),  # it is there
    ("email_domain_blocks", {"domain": "a.example", "allow_with_approval": True}, "allow_with_approval"),
    ("email_domain_blocks", {}, "domain"),
    ("canonical_email_blocks", {"email": "nobody"}, "email"),
    ("canonical_email_blocks", {"canonical_email_hash": "0" * 63}, "email"),
    ("canonical_email_blocks", {}, "email"),
    ("ip_blocks", {**RANGE, "ip": "0.0.0.0/0"}, "ip"),
    ("ip_blocks", {**RANGE, "severity": "no_access"}, "severity"),
    ("ip_blocks", {**RANGE, "severity": "sign_up_requires_approval"}, "severity"),
    ("ip_blocks", {**RANGE, "expires_in": 0}, "expires_in"),
    ("ip_blocks", {**RANGE, "comment": "a" * 501}, "comment"),
])  # fmt: skip
def test_a_bad_value_is_refused_and_its_field_named(program, kind, body, field):
    SignUpBlock.objects.create(kind="domain", value="spam.example")
    answer = program.post(f"{ADMIN}/{kind}", body, format="json")
    assert answer.status_code == 422
    assert [one["field"] for one in answer.json()["errors"]] == [field]
    assert SignUpBlock.objects.count() == 1


def test_a_block_that_was_added_meanwhile_is_refused_too(mod, monkeypatch):
    def save(*_args, **_more):
        raise IntegrityError

    monkeypatch.setattr(SignUpBlock, "save", save)
    with pytest.raises(Exception, match="blocked already"):
        save_block(SignUpBlock(kind="domain"), by=mod, value="spam.example")


@pytest.mark.slow
@each("act, method", [("add", "post"), ("change", "put"), ("delete", "delete")])
def test_each_act_needs_its_permission(act, method, api_of):
    row = SignUpBlock.objects.create(kind="range", value="203.0.113.0/24")
    reader = make_staff("sign_ups.view_signupblock", handle=f"reader_{act}")
    path = f"{ADMIN}/ip_blocks" if act == "add" else f"{ADMIN}/ip_blocks/{row.pk}"
    client = api_of(reader, "admin:read admin:write")
    assert client.get(f"{ADMIN}/ip_blocks/{row.pk}").status_code == 200
    body = {**RANGE, "ip": "198.51.100.0/24"}
    assert getattr(client, method)(path, body, format="json").status_code == 403
    assert [one.value for one in SignUpBlock.objects.all()] == ["203.0.113.0/24"]
    keeper = make_staff(f"sign_ups.{act}_signupblock", handle=f"keeper_{act}")
    client = api_of(keeper, "admin:write:ip_blocks")
    assert getattr(client, method)(path, body, format="json").status_code == 200


def test_an_address_is_tested_however_it_is_written(program):
    program.post(f"{ADMIN}/canonical_email_blocks", {"email": "ab@mail.example"}, format="json")
    for email, number in (("A.B+x@mail.example", 1), ("abc@mail.example", 0), ("ab@example", 0)):
        answer = program.post(
            f"{ADMIN}/canonical_email_blocks/test", {"email": email}, format="json"
        )
        assert (answer.status_code, len(answer.json())) == (200, number), email
