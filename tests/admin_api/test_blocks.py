"""Blocks for programs of staff: the site has none, and says why it makes none."""

import pytest

from apps.admin_api.blocks import KINDS

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
