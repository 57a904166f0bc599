"""What a site in production must not be run with, and that no server of it starts with that."""

import os
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.checks.registry import registry
from django.core.management import CommandError, call_command

from apps.media.video import _programs
from feedsite.checks import stop_if_refused

ROOT = Path(__file__).resolve().parents[2]
KEY = "kD7fJ2mQ9xW4vB8nT1sL6pR3yH5cZ0gA-eUiOoXbNqKdMwVjFt"
GOOD = {
    "PRODUCTION": True,
    "SECRET_KEY": KEY,
    "SECRET_KEY_FALLBACKS": [],
    "DEBUG": False,
    "ALLOWED_HOSTS": ["feed.example.org"],
    "SITE_URL": "https://feed.example.org",
    "SESSION_COOKIE_SECURE": True,
    "CSRF_COOKIE_SECURE": True,
    "SECURE_SSL_REDIRECT": True,
    "SECURE_HSTS_SECONDS": 3600,
    "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
    "TRUSTED_PROXY_HOPS": 1,
    "STAFF_SECOND_FACTOR": True,
    "FFMPEG": "sh",  # any program that is there
}


@pytest.fixture
def production(settings, monkeypatch):
    monkeypatch.setattr("feedsite.checks.missing", list)  # of this machine nothing is said
    for name, value in GOOD.items():
        setattr(settings, name, value)
    return settings


def found():
    """Of the site's own checks; those of Django and of the libraries take a tenth of a second."""
    own = [check for check in registry.get_checks() if check.__module__.startswith("feedsite.")]
    return [message.id for check in own for message in check(app_configs=None, databases=None)]


@pytest.mark.slow
def test_a_site_as_documented_is_accepted(production):
    assert found() == []
    stop_if_refused()


def example_key():
    words = shlex.split((ROOT / ".env.example").read_text(), comments=True)
    return dict(word.split("=", 1) for word in words)["SECRET_KEY"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("SECRET_KEY", example_key(), "E001"),
        ("SECRET_KEY", KEY[:49], "E001"),
        ("SECRET_KEY", "abcabc" * 10, "E001"),
        ("SECRET_KEY", f"django-insecure-{KEY}", "E001"),
        ("SECRET_KEY_FALLBACKS", [KEY, "short"], "E001"),
        ("DEBUG", True, "E002"),
        ("ALLOWED_HOSTS", ["*"], "E003"),
        ("SESSION_COOKIE_SECURE", False, "E004"),
        ("CSRF_COOKIE_SECURE", False, "E004"),
        ("SECURE_PROXY_SSL_HEADER", ("X-Forwarded-Proto",), "E008"),
        ("REDIS_COUNTERS_URL", "redis+cluster://a:1,b:2", "E009"),
        ("CELERY_BROKER_URL", "redis+cluster://a:1,b:2", "E009"),
        ("REDIS_GRAPH_REPLICA_URLS", ["redis+cluster://a:1,b:2"], "E025"),
        ("REDIS_TIMELINES_REPLICA_URLS", ["redis+cluster://a:1,b:2"], "E025"),
        ("DATABASE_POOLER", "statement", "E010"),
        ("TIMELINE_SHARDS", ["default", "shard1"], "E015"),
        ("TIMELINE_SHARDS", ["default"], "W008"),
        ("REDIS_URL", "redis+sentinel://127.0.0.1:26379", "E019"),  # without a name
        ("CELERY_BROKER_QUEUE_TYPE", "quorum", "E017"),  # with Redis
        ("CELERY_BROKER_URL", "sentinel://127.0.0.1:26379", "E018"),
        ("METRICS_TOKEN", KEY[:31], "E011"),
        ("METRICS_TOKEN", f"replace-me-{KEY}", "E011"),
        ("METRICS_ADDRESSES", ["10.0.0.7", "::/0"], "E012"),
        ("METRICS_ADDRESSES", ["prometheus"], "E013"),
        ("SLO_AVAILABILITY", 1.0, "E029"),
        ("SLO_AVAILABILITY", 0.93, "E029"),  # all bad would be a burn of 14.28
        ("SLO_HOME_SECONDS", 0.0, "E029"),
        ("MEDIA_ACCEL_URL", "/_media", "E034"),
        ("WEB_CONCURRENCY", {"core": 4, "writes": 0, "rest": 2}, "E014"),
        ("WEB_CONCURRENCY", {"core": 40, "writes": 3, "rest": 2}, "W003"),
        ("SECURE_PROXY_SSL_HEADER", None, "W001"),
        ("FFMPEG", "no-such-program", "W002"),
        ("TRUSTED_PROXY_HOPS", 0, "E026"),
        ("SECURE_SSL_REDIRECT", False, "W006"),
        ("STAFF_SECOND_FACTOR", False, "W007"),
    ],
)
def test_what_is_refused(production, name, value, code):
    setattr(production, name, value)
    assert found() == [f"feedsite.{code}"]


def test_a_newcomer_is_warned_of_nothing(settings, monkeypatch, tmp_path):
    """By a first `./run` on a machine without ffmpeg; the wheel has one."""
    monkeypatch.setenv("PATH", str(tmp_path))
    settings.PRODUCTION, settings.FFMPEG = False, ""
    _programs.cache_clear()
    assert found() == []
    _programs.cache_clear()


@pytest.mark.slow
def test_ffmpeg_without_confinement_is_told(production, monkeypatch):
    monkeypatch.setattr("feedsite.checks.missing", lambda: ["Landlock"])
    assert found() == ["feedsite.W005"]
    production.FFMPEG = "no-such-program"
    assert found() == ["feedsite.W002"]


@pytest.mark.slow
def test_a_replica_is_another_server_and_no_shard(production, monkeypatch):
    monkeypatch.setitem(production.DATABASES, "replica1", production.DATABASES["default"])
    production.REPLICA_DATABASES = ["replica1"]
    assert found() == ["feedsite.E016"]
    production.TIMELINE_SHARDS = ["replica1"]
    assert found() == ["feedsite.E015", "feedsite.E016"]


def test_a_proxy_cannot_send_files_of_a_bucket(production):
    production.MEDIA_ACCEL_URL = "/_media/"
    assert found() == []
    production.MEDIA_BUCKET = "pictures"
    assert found() == ["feedsite.E034"]


def test_tls_settings_need_an_address_with_tls(production):
    production.SITE_URL = "http://feed.example.org"
    assert sorted(found()) == ["feedsite.E005", "feedsite.E007", "feedsite.E007"]


def test_the_password_of_the_example_is_refused(production, monkeypatch):
    monkeypatch.setitem(production.DATABASES["default"], "PASSWORD", "replace-me")
    assert found() == ["feedsite.E006"]


def test_outside_of_production_much_is_allowed(settings):
    settings.PRODUCTION, settings.DEBUG, settings.ALLOWED_HOSTS = False, True, ["*"]
    settings.FFMPEG = "sh"
    assert found() == []


SERVERS = {
    "web": [
        "-c",
        "import feedsite.rsgi",
    ],  # as each process of granian does; it is then started again
    "streaming": ["-c", "import feedsite.asgi"],
    "worker": ["-m", "celery", "-A", "feedsite", "worker", "--pool", "solo", "-Q", "nobody"],
    "beat": ["-m", "celery", "-A", "feedsite", "beat", "-s", "schedule"],
}


@pytest.mark.flows
@pytest.mark.parametrize("name", SERVERS)
def test_no_server_starts_with_what_is_refused(name, tmp_path):
    environment = {**os.environ, "PRODUCTION": "1", "SECRET_KEY": example_key(), "PYTHONPATH": str(ROOT)}  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-P", *SERVERS[name]],
        cwd=tmp_path, env=environment, timeout=60, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode != 0
    assert "feedsite does not start with these settings" in ended.stderr
    assert "feedsite.E001" in ended.stderr


def test_the_demo_is_not_for_production(settings, db):
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match="refused in production"):
        call_command("seed_demo", stdout=StringIO())
