"""Blocks for programs of staff: those of sign-ups can be read, others there are none, and why is said."""

import pytest

from apps.admin_api.blocks import KINDS
from apps.sign_ups.models import SignUpBlock

pytestmark = pytest.mark.django_db
CHANGED = {"domain_blocks", "ip_blocks"}


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_lists_are_empty_and_nothing_is_added(program, name):
    address = f"/api/v1/admin/{name}"
    answer = program.get(address)
    assert (answer.status_code, answer.json()) == (200, [])
    assert program.get(f"{address}?max_id=x").status_code == 400
    answer = program.post(address, {"domain": "mail.example", "ip": "10.0.0.1"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "no_such_block")
    assert program.get(f"{address}/1").status_code == 404
    assert program.delete(f"{address}/1").status_code == 404
    assert program.put(f"{address}/1").status_code == (404 if name in CHANGED else 405)


def test_no_address_is_blocked(program):
    answer = program.post(
        "/api/v1/admin/canonical_email_blocks/test", {"email": "a@b.example"}, format="json"
    )
    assert (answer.status_code, answer.json()) == (200, [])


def test_blocks_of_sign_ups_are_read(program):
    rows = [
        SignUpBlock.objects.create(kind=kind, value=value, reason="A wave.")
        for kind, value in (
            ("range", "203.0.113.0/24"),
            ("domain", "spam.example"),
            ("handle", "spam*"),
        )
    ]
    [ip] = program.get("/api/v1/admin/ip_blocks").json()
    assert (ip["id"], ip["ip"], ip["comment"]) == (str(rows[0].pk), "203.0.113.0/24", "A wave.")
    assert program.get(f"/api/v1/admin/ip_blocks/{rows[0].pk}").json() == ip
    assert program.get(f"/api/v1/admin/ip_blocks/{rows[1].pk}").status_code == 404
    [domain] = program.get("/api/v1/admin/email_domain_blocks").json()
    assert (domain["id"], domain["domain"]) == (str(rows[1].pk), "spam.example")
    answer = program.delete(f"/api/v1/admin/email_domain_blocks/{rows[1].pk}")
    assert (answer.status_code, SignUpBlock.objects.count()) == (422, 3)
