from base64 import b64decode, urlsafe_b64decode

import pytest

from runner.checkout import ROOT
from runner.environment import allowed_hosts, joined_environment, site_environment, to_save
from runner.services.redis import redis_settings
from runner.terminal import LaunchError

SERVERS = {"DATABASE_URL": "postgres://feedsite@/feedsite?host=%2Fd"} | redis_settings(
    ROOT / "redis.sock"
)


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Without what the test servers export."""
    for name in (
        *SERVERS,
        "SECRET_KEY",
        "VAPID_PRIVATE_KEY",
        "ALLOWED_HOSTS",
        "SITE_URL",
        "MEMCACHED_URLS",
        "MEDIA_ROOT",
        "DEBUG",
    ):
        monkeypatch.delenv(name, raising=False)


def test_the_site_gets_its_servers_its_secret_and_its_address(data):
    environment = site_environment(data, SERVERS, port=8123)
    assert environment["DATABASE_URL"] == SERVERS["DATABASE_URL"]
    assert environment["SECRET_KEY"] == data.secret_key()
    assert len(b64decode(environment["PAGE_SIGNING_KEY"])) == 32
    assert environment["PAGE_SIGNING_KEY"] == data.page_signing_key()
    assert len(urlsafe_b64decode(environment["VAPID_PRIVATE_KEY"])) == 32
    assert environment["VAPID_PRIVATE_KEY"] == data.vapid_private_key()
    assert environment["SITE_URL"] == "http://127.0.0.1:8123"
    assert environment["MEDIA_ROOT"] == str(data.media)
    assert environment["PYTHONPATH"] == str(ROOT)
    assert environment["DEBUG"] == "0"


def test_the_databases_of_one_redis_are_kept_apart(data):
    environment = site_environment(data, SERVERS)
    ends = {name: environment[name][-1] for name in SERVERS if name != "DATABASE_URL"}
    assert ends == {
        "REDIS_URL": "0",
        "REDIS_LIMITS_URL": "0",
        "REDIS_CACHE_URL": "1",
        "CELERY_BROKER_URL": "2",
    }


def test_what_the_caller_sets_wins(data, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "given")
    monkeypatch.setenv("PAGE_SIGNING_KEY", "given too")
    monkeypatch.setenv("CELERY_BROKER_URL", "amqp://rabbit")
    environment = site_environment(data, SERVERS)
    assert (environment["SECRET_KEY"], environment["PAGE_SIGNING_KEY"]) == ("given", "given too")
    assert environment["CELERY_BROKER_URL"] == "amqp://rabbit"
    assert not (data.path / "secret_key").exists()


def test_empty_addresses_count_as_missing(data, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "")
    assert site_environment(data, SERVERS)["DATABASE_URL"] == SERVERS["DATABASE_URL"]


def test_a_shells_database_settings_do_not_reach_the_embedded_server(data, monkeypatch):
    monkeypatch.setenv("PGUSER", "somebody")
    monkeypatch.setenv("GRANIAN_PORT", "1")
    assert not {"PGUSER", "GRANIAN_PORT"} & site_environment(data, SERVERS).keys()
    monkeypatch.setenv("DATABASE_URL", "postgres://elsewhere/db")
    assert site_environment(data, SERVERS)["PGUSER"] == "somebody"


def test_a_redis_from_outside_is_the_broker_too_where_that_is_possible(data, monkeypatch):
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere/0")
    assert site_environment(data, {})["CELERY_BROKER_URL"] == "redis://elsewhere/0"
    monkeypatch.setenv("REDIS_URL", "unix:///elsewhere.sock")
    with pytest.raises(LaunchError, match="CELERY_BROKER_URL"):
        site_environment(data, {})


@pytest.mark.parametrize(("host", "expected"), [("0.0.0.0", "*"), ("::", "*")])
def test_a_public_address_answers_to_any_name(host, expected):
    assert allowed_hosts(host) == expected


def test_a_private_address_answers_to_its_own_names():
    names = allowed_hosts("10.0.0.7").split(",")
    assert names[:3] == ["127.0.0.1", "localhost", "[::1]"]
    assert names[-1] == "10.0.0.7"


def test_a_joining_command_gets_the_sites_settings_and_keeps_its_own(data, monkeypatch):
    saved = to_save(site_environment(data, SERVERS))
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    joined = joined_environment(saved)
    assert joined["SECRET_KEY"] == data.secret_key()
    assert joined["DATABASE_URL"] == SERVERS["DATABASE_URL"]
    assert joined["LOG_LEVEL"] == "DEBUG"
