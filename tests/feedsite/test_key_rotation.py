"""SECRET_KEY is replaced while people are logged in: nobody is logged out, and addresses of pictures go on."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from apps.accounts.actions import register
from apps.accounts.closing import leave
from apps.accounts.logins import end_session
from apps.accounts.models import Login
from apps.errors import DomainError
from apps.media.addresses import address_of, may_be_shown
from feedsite.environment import Environment
from tests.support.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db
OLD, NEW = "the-key-of-yesterday" * 3, "the-key-of-today" * 4


@pytest.fixture
def rotate(settings):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []

    def now(*fallbacks):
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, list(fallbacks)

    return now


@pytest.fixture
def visitor(rotate):
    user = make_user("rotating")
    user.set_password(PASSWORD)
    user.save()
    visitor = Client()
    answer = visitor.post("/login", {"username": "rotating", "password": PASSWORD})
    assert answer.status_code in {302, 303}
    return visitor


def test_a_session_goes_on_and_can_still_be_ended(visitor, rotate):
    rotate(OLD)
    assert visitor.get("/home").status_code == 200
    assert visitor.get("/home").status_code == 200
    login = Login.objects.get(user__handle="rotating")
    assert login.session_key == visitor.cookies["sessionid"].value, "it is found under its new key"
    end_session(login.user, login.pk)
    assert visitor.get("/home").status_code == 302


def test_the_session_outlives_the_old_key_once_it_was_used(visitor, rotate):
    rotate(OLD)
    visitor.get("/home")
    rotate()
    assert visitor.get("/home").status_code == 200


def test_a_key_that_leaked_is_worth_nothing(visitor, rotate):
    rotate()
    assert visitor.get("/home").status_code == 302


def holds(address):
    query = parse_qs(urlsplit(address).query)
    return may_be_shown("restricted/a.webp", until=query["until"][0], key=query["key"][0])


def test_an_address_of_a_picture_goes_on(rotate):
    address = address_of("restricted/a.webp")
    rotate(OLD)
    assert holds(address)
    assert holds(address_of("restricted/a.webp"))
    assert address_of("restricted/a.webp") != address
    rotate()
    assert not holds(address)


def test_the_handle_of_who_left_stays_taken(rotate):
    user = make_user("departed")
    user.set_password(PASSWORD)
    user.save()
    leave(user, password=PASSWORD)
    rotate(OLD)
    with pytest.raises(DomainError):
        register(handle="departed", email="", password="a long password of mine")


def test_a_setting_may_be_in_a_file(tmp_path, monkeypatch):
    file = tmp_path / "key"
    file.write_text("from a file\n")
    monkeypatch.setenv("TRIED_FILE", str(file))
    monkeypatch.setenv("TRIED", "from the environment")
    assert Environment().str("TRIED") == "from a file"
    monkeypatch.delenv("TRIED_FILE")
    Environment.ENVIRON.files_cache.clear()
    assert Environment().str("TRIED") == "from the environment"
