"""What staff block from signing up, on the page and by programs, and what they see of it."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.signals import SignUp
from apps.sign_ups.actions import purge
from apps.sign_ups.models import SignUpBlock, normalised
from apps.sign_ups.queries import block_of
from tests.api.test_endpoints import application_client
from tests.support.cases import each
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
LIST = "/admin/sign_ups/signupblock/"
NEW = {"username": "newcomer", "email": "new@mail.example.org", "password": "a long enough passphrase",
       "agreement": True}  # fmt: skip
FORM = {
    "handle": "newcomer",
    "email": "new@mail.example.org",
    "password": "a long enough passphrase",
}


def block(kind, value, **more):
    return SignUpBlock.objects.create(kind=kind, value=value, **more)


@pytest.mark.slow
@each("kind, value, field", [
    ("range", "127.0.0.0/8", None),
    ("domain", "example.org", "email"),
    ("domain", "mail.example.org", "email"),
    ("handle", "newcomer", "handle"),
    ("handle", "newc*", "handle"),
])  # fmt: skip
def test_a_block_refuses_pages_and_programs_and_counts_them(kind, value, field):
    row = block(kind, value)
    page = Client().post("/join", FORM)
    assert page.status_code == 422
    answer = application_client().post("/api/v1/accounts", NEW, format="json")
    assert answer.status_code == 422
    names = {None: [], "handle": ["username"], "email": ["email"]}
    assert list(answer.json().get("details", {})) == names[field]
    assert not User.objects.filter(handle="newcomer").exists()
    row.refresh_from_db()
    assert row.refused == 2
    row.delete()
    assert Client().post("/join", FORM).status_code == 303


@each("kind, value", [
    ("range", "128.0.0.0/8"), ("range", "2001:db8::/32"), ("domain", "other.example.org"), ("domain", "ample.org"),
    ("domain", "org.example"), ("handle", "newcome"), ("handle", "ewc*"), ("handle", "new_*"),
])  # fmt: skip
def test_what_a_block_does_not_name_is_let_in(kind, value):
    block(kind, value)
    assert block_of(SignUp("newcomer", "new@mail.example.org", "127.0.0.1")) is None


def test_a_range_holds_networks_and_an_unknown_address_is_in_none():
    row = block("range", "2001:db8::/32")
    applying = block_of(SignUp("a", "", "2001:db8:1::/64"))
    assert applying is not None
    assert applying.id == row.pk
    assert block_of(SignUp("a", "", "2001:db9::/64")) is None
    assert block_of(SignUp("a", "", "")) is None


def test_a_block_of_one_ipv6_address_is_of_the_network_that_is_known_of_clients():
    block("range", normalised("range", "2001:db8::7"))
    assert block_of(SignUp("a", "", "2001:db8::/64")) is not None
    assert block_of(SignUp("a", "", "2001:db8:0:1::/64")) is None


@each("kind, value, email", [
    ("domain", "example.org", "new@\uff45xample.org"),
    ("domain", "example.org", "new@mail\u3002example.org"),
    ("domain", "b\xfccher.example", "new@mail.b\xfccher.example"),
    ("email", "new@example.org", "ne.w+a@\uff45xample.org"),
    ("email", "new@b\xfccher.example", "new@xn--bcher-kva.example"),
])  # fmt: skip
def test_a_domain_is_blocked_however_it_is_spelled(kind, value, email):
    block(kind, normalised(kind, value))
    assert block_of(SignUp("a", email, "")) is not None
    assert block_of(SignUp("a", "new@example.com", "")) is None


def test_a_block_ends_and_is_removed():
    block("handle", "ended", expires_at=timezone.now() - timedelta(minutes=1))
    block("handle", "going", expires_at=timezone.now() + timedelta(minutes=1))
    block("handle", "staying")
    assert block_of(SignUp("ended", "", "")) is None
    assert block_of(SignUp("going", "", "")) is not None
    assert [purge() for _time in range(2)] == [1, 0]
    assert set(SignUpBlock.objects.values_list("value", flat=True)) == {"going", "staying"}


@each("kind, value, stored", [
    ("range", " 203.0.113.7/24 ", "203.0.113.0/24"),
    ("range", "203.0.113.7", "203.0.113.7/32"),
    ("range", "2001:DB8::1/32", "2001:db8::/32"),
    ("range", "2001:db8::1", "2001:db8::/64"),
    ("domain", "@Example.ORG.", "example.org"),
    ("domain", "bücher.example", "xn--bcher-kva.example"),
    ("handle", "Spam*", "spam*"),
])  # fmt: skip
def test_a_value_is_stored_in_one_form(kind, value, stored):
    assert normalised(kind, value) == stored
    assert normalised(kind, stored) == stored


@each("kind, value", [
    ("range", "example.org"), ("range", "0.0.0.0/0"), ("range", "10.0.0.0/7"), ("range", "::/15"), ("range", ""),
    ("domain", "org"), ("domain", "a@example.org"), ("domain", "a..org"), ("domain", "*.org"), ("domain", ""),
    ("handle", "*"), ("handle", "ab*"), ("handle", "a b"), ("handle", "é"), ("handle", "a" * 31), ("handle", ""),
])  # fmt: skip
def test_a_value_that_is_none_of_its_kind_is_refused(kind, value):
    with pytest.raises(ValidationError):
        normalised(kind, value)


def test_staff_add_change_and_remove_blocks_and_it_is_on_record():
    staff = make_staff(
        *(f"sign_ups.{act}_signupblock" for act in ("view", "add", "change", "delete"))
    )
    browser = browser_of(staff)
    values = {"kind": "domain", "value": "@Spam.Example", "reason": "A wave.", "expires_at": ""}
    assert browser.post(f"{LIST}add/", values).status_code == 302
    row = SignUpBlock.objects.get()
    assert (row.value, row.by, row.reason) == ("spam.example", staff, "A wave.")
    assert "spam.example" in browser.get(LIST).text
    again = browser.post(f"{LIST}add/", {**values, "value": "spam.example"})
    assert (again.status_code, SignUpBlock.objects.count()) == (200, 1)
    wrong = browser.post(f"{LIST}add/", {**values, "value": "spam"})
    assert "Enter a domain such as example.org." in wrong.text
    assert browser.post(f"{LIST}{row.pk}/change/", {**values, "reason": "x"}).status_code == 302
    assert browser.post(f"{LIST}{row.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not SignUpBlock.objects.exists()
    assert LogEntry.objects.filter(user=staff).count() == 3


@each("act", ["add", "change", "delete"])
def test_each_act_needs_its_permission(act):
    row = block("handle", "spam*")
    browser = browser_of(make_staff("sign_ups.view_signupblock"))
    path = f"{LIST}add/" if act == "add" else f"{LIST}{row.pk}/{act}/"
    values = {"kind": "handle", "value": "other", "post": "yes"}
    assert browser.post(path, values).status_code == 403
    assert [one.value for one in SignUpBlock.objects.all()] == ["spam*"]
