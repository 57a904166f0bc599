"""A wave of sign-ups is seen, told to staff, and slowed down, by networks."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.signals import SignUp
from apps.errors import TooMany
from apps.sign_ups import queries
from apps.sign_ups.actions import network_of, slow_down_wave
from apps.sign_ups.queries import AT_LEAST, TIMES, current_wave, wave_that_runs
from tests.support.cases import each
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db


def accounts(number, hours_ago, prefix):
    """Accounts that were made at one moment."""
    rows = User.objects.bulk_create(User(handle=f"{prefix}{n}") for n in range(number))
    moment = timezone.now() - timedelta(hours=hours_ago)
    User.objects.filter(pk__in=[row.pk for row in rows]).update(created_at=moment)


@pytest.fixture
def wave(db):
    accounts(4, 49, "old")  # in the two days before the last hour
    accounts(AT_LEAST, 0.5, "new")


@pytest.mark.usefixtures("wave")
def test_many_more_accounts_than_usual_are_a_wave():
    wave = current_wave()
    assert wave is not None
    assert wave.number == AT_LEAST
    assert wave.usual == pytest.approx(4 / 48, rel=0.01)


@pytest.mark.slow
@each("old, hours, new", [
    (4, 49, AT_LEAST - 1),  # too few
    (4, 20, 100),  # a site of one day: nothing is usual yet
    (0, 0, 100),  # a new site
    (25 * 48 // TIMES + 5, 49, 25),  # it is usual here
])  # fmt: skip
def test_what_is_no_wave(old, hours, new):
    accounts(old, hours, "old")
    accounts(new, 0.5, "new")
    assert current_wave() is None


def test_a_wave_is_slowed_down_for_each_network(wave, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "sign_up_wave": (1, 1800)}
    slow_down_wave(SignUp("a", "", "203.0.113.7"))
    with pytest.raises(TooMany):
        slow_down_wave(SignUp("b", "", "203.0.113.99"))
    slow_down_wave(SignUp("c", "", "198.51.100.1"))
    slow_down_wave(SignUp("d", "", ""))  # no client is known
    User.objects.filter(handle__startswith="new").delete()
    slow_down_wave(SignUp("e", "", "203.0.113.99"))


def test_the_largest_waves_fill_the_counted_accounts(monkeypatch, db):
    monkeypatch.setattr(queries, "_NEWEST", AT_LEAST + 4)
    accounts(30, 5, "old")
    accounts(AT_LEAST, 0.5, "new")
    wave = current_wave()
    assert wave is not None
    assert wave.number == AT_LEAST
    assert wave.usual == pytest.approx(4 / 4, rel=0.01)
    accounts(4, 0.5, "newer")
    assert current_wave() == (AT_LEAST + 4, None)
    assert f"At least {AT_LEAST + 4} new accounts" in dict(wave_that_runs()).popitem()[0]


@each("address, network", [
    ("203.0.113.7", "203.0.113.0/24"),
    ("2001:db8:1:2::/64", "2001:db8:1::/48"),
    ("2001:db8:1:2::7", "2001:db8:1::/48"),
])  # fmt: skip
def test_networks(address, network):
    assert network_of(address) == network


def test_staff_see_it_on_their_first_page(wave):
    browser = browser_of(make_staff(superuser=True))  # a new account, too
    said = f"{AT_LEAST + 1} new accounts in the last hour, usually 0.1. Sign-ups are slowed down."
    assert said in browser.get("/admin/").text
    User.objects.filter(handle__startswith="new").delete()
    assert "Sign-ups are slowed down" not in browser.get("/admin/").text
