"""What staff do for owners who cannot get into their accounts, and that it is no way into them for staff."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.core import mail
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from apps.accounts.authentication import second_factor
from apps.accounts.email.rescue import RESCUE, give_address, mail_new_password, reset_second_factor
from apps.accounts.models import User
from apps.errors import Invalid, NotAllowed
from tests.support.factories import PASSWORD, deliver, log_in
from tests.support.staff import browser_of, confirm, make_staff

pytestmark = pytest.mark.django_db
USERS = "/admin/accounts/user/"
MAY_CHANGE = ("accounts.view_user", "accounts.change_user")
OLD, NEW = "alice@example.org", "new@example.org"


def page(user):
    return f"{USERS}{user.pk}/change/"


def mails():
    deliver()
    return [(each.to, each.subject.split(" for ")[0].split(" at ")[0]) for each in mail.outbox]


def links(number):
    return re.findall(r"http://testserver(/\S+)", mail.outbox[number].body)


def test_to_change_accounts_is_not_to_get_into_them(alice):
    staff = make_staff(*MAY_CHANGE)
    browser = browser_of(staff)
    assert 'name="email"' not in browser.get(page(alice)).text
    said = {"display_name": "A", "bio": "", "email": NEW}
    assert browser.post(page(alice), said).status_code == 302
    for action in ("mail_password", "reset_factor"):
        confirm(browser, USERS, action, [alice], reason="because")
    for act in (mail_new_password, reset_second_factor):
        with pytest.raises(NotAllowed):
            act(alice, by=staff)
    with pytest.raises(NotAllowed):
        give_address(alice, NEW, by=staff)
    alice.refresh_from_db()
    assert (alice.display_name, alice.email, alice.pending_email) == ("A", OLD, "")
    assert mails() == []


def test_a_password_is_chosen_by_its_owner(alice):
    staff = make_staff(*MAY_CHANGE, RESCUE)
    text = confirm(
        browser_of(staff), USERS, "mail_password", [alice], reason="asked at the desk"
    ).text
    assert "1 e-mail is on its way." in text
    assert mails() == [([OLD], "A new password")]
    [link] = links(0)
    assert link not in text
    [entry] = LogEntry.objects.all()
    assert (entry.user, entry.object_id) == (staff, str(alice.pk))
    assert "asked at the desk" in entry.change_message


def test_without_an_address_there_is_no_link(alice):
    alice.email = None
    alice.save()
    with pytest.raises(Invalid):
        mail_new_password(alice, by=make_staff(superuser=True))


@pytest.mark.parametrize("change", [{"is_active": False}, {"suspended_at": timezone.now()}])
def test_who_may_not_log_in_gets_no_link(alice, change):
    User.objects.filter(pk=alice.pk).update(**change)
    alice.refresh_from_db()
    with pytest.raises(Invalid, match="frozen or suspended"):
        mail_new_password(alice, by=make_staff(superuser=True))


def test_an_address_counts_once_its_owner_confirms_it_and_the_old_one_is_told(alice, client):
    browser = browser_of(make_staff(*MAY_CHANGE, RESCUE))
    said = {"display_name": "A", "bio": "", "email": "New@Example.org"}
    assert browser.post(page(alice), said).status_code == 302
    alice.refresh_from_db()
    assert (alice.email, alice.pending_email) == (OLD, NEW)
    assert mails() == [([NEW], "Confirm your address"), ([OLD], "Your e-mail address")]
    assert "Staff of" in mail.outbox[1].body
    [link] = links(0)
    log_in(client, alice)
    client.post(link)
    alice.refresh_from_db()
    assert (alice.email, alice.pending_email) == (NEW, "")


def test_an_address_is_taken_away_and_told(alice):
    browser = browser_of(make_staff(*MAY_CHANGE, RESCUE))
    assert (
        browser.post(page(alice), {"display_name": "A", "bio": "", "email": ""}).status_code == 302
    )
    alice.refresh_from_db()
    assert (alice.email, alice.pending_email) == (None, "")
    assert mails() == [([OLD], "Your e-mail address")]


def test_a_correction_of_a_name_tells_nobody(alice):
    browser = browser_of(make_staff(*MAY_CHANGE, RESCUE))
    browser.post(page(alice), {"display_name": "A", "bio": "", "email": OLD})
    assert mails() == []


@pytest.mark.parametrize("by", ["staff", "operator"])
def test_the_owner_is_told_of_a_lost_second_factor(alice, by):
    staff = make_staff(*MAY_CHANGE, RESCUE) if by == "staff" else None
    TOTPDevice.objects.create(user=alice, name="app", confirmed=True)
    assert second_factor.has_second_factor(alice)
    reset_second_factor(alice, by=staff)
    assert not second_factor.has_second_factor(alice)
    assert mails() == [([OLD], "Your second factor")]
    assert "Staff of" in mail.outbox[0].body


def test_nobody_is_told_of_a_second_factor_that_there_was_not(alice):
    staff = make_staff(*MAY_CHANGE, RESCUE)
    text = confirm(browser_of(staff), USERS, "reset_factor", [alice], reason="asked").text
    assert "This account has no second factor." in text
    assert mails() == []
    assert not LogEntry.objects.exists()


def test_over_staff_only_superusers_have_the_right(alice):
    rescuer, chief = make_staff(*MAY_CHANGE, RESCUE), make_staff(superuser=True)
    for user in (chief, make_staff(), rescuer):
        for act in (mail_new_password, reset_second_factor):
            with pytest.raises(NotAllowed):
                act(user, by=rescuer)
    with pytest.raises(NotAllowed):
        reset_second_factor(chief, by=chief)
    mail_new_password(rescuer, by=chief)
    assert mails() == [([rescuer.email], "A new password")]
    assert User.objects.get(pk=alice.pk).check_password(PASSWORD)
