"""A site whose Redis has TLS: its sessions, its containers' health, and what its checks refuse.

How the library talks to such servers: tests/feedcache/test_tls.py.
"""

import json
import os
import socket
import subprocess
import sys

import pytest
from django.core.checks import run_checks

import healthcheck
from feedcache import connections
from feedcache.servers.topology_listener import PROCESSES, REPORT
from feedsite.checks import stop_if_refused
from feedsite.environment import Environment, tls_files
from tests.support import tls
from tests.support.ports import free_port
from tools.scale.certificates import make_certificates

pytestmark = pytest.mark.clusters


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def several(tmp_path_factory, files):
    """Addresses by kind."""
    with tls.of_each_kind(tmp_path_factory.mktemp("several"), files) as found:
        yield found


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
def test_sessions_of_a_site(several, files, kind):
    code = "import django; django.setup(); from django.core.cache import cache"
    code += "; cache.set('session', 'a'); print(cache.get('session'))"
    environment = {**os.environ, "REDIS_CACHE_URL": several[kind], "REDIS_CA_FILE": str(files.ca),
                   "REDIS_CERT_FILE": str(files.certificate), "REDIS_KEY_FILE": str(files.key),
                   "PYTHONPATH": os.pathsep.join(sys.path), "DJANGO_SETTINGS_MODULE": "feedsite.settings"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "a\n", done.stderr


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
def test_a_container_finds_its_report(several, files, settings, monkeypatch, kind):
    name = f"{socket.gethostname()}:1"
    with tls.trusting(settings, files, REDIS_URL=several[kind]):
        client = connections.timelines()
        client.sadd(PROCESSES, name)
        client.set(REPORT.format(name), json.dumps({"role": "worker", "version": 0}))
    monkeypatch.setenv("REDIS_URL", several[kind])
    for variable, path in zip(healthcheck.TLS_FILES.values(), files, strict=False):
        monkeypatch.setenv(variable, str(path))
    assert healthcheck.reports("worker")
    assert not healthcheck.reports("beat")


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
@pytest.mark.parametrize("setting", ["REDIS_URL", "REDIS_GRAPH_URL"])
def test_a_site_with_a_server_of_another_authority_does_not_start(
    several, tmp_path, settings, kind, setting, capsys
):
    stranger = make_certificates(tmp_path / "other")
    with tls.trusting(settings, stranger, **{setting: several[kind]}), pytest.raises(SystemExit):
        stop_if_refused()
    said = capsys.readouterr().err
    assert f"{setting}: no TLS with 127.0.0.1:" in said
    assert "certificate verify failed" in said


def refusals():
    found = {message.id: message.msg for message in run_checks()}
    return {code: found[code] for code in ("feedsite.E023", "feedsite.E024") if code in found}


def test_a_server_that_asks_for_a_certificate(several, files, settings):
    url = several["server"]
    with tls.trusting(settings, files, REDIS_URL=url):
        settings.REDIS_TLS_FILES = {"ca_certs": str(files.ca)}
        assert "alert certificate required" in refusals()["feedsite.E024"]
    with tls.trusting(settings, files, REDIS_URL=url):
        assert refusals() == {}


def test_a_server_that_is_away_is_not_refused(files, settings):
    port = free_port()
    with tls.trusting(settings, files, REDIS_URL=f"rediss://127.0.0.1:{port}/0"):
        assert refusals() == {}


def test_files_that_are_not_there(settings):
    settings.REDIS_TLS_FILES = {"ca_certs": "/no/such.pem"}
    assert "files for TLS to REDIS cannot be used" in refusals()["feedsite.E023"]


def test_the_environment_names_the_files(monkeypatch):
    monkeypatch.setenv("REDIS_CA_FILE", "/etc/ca.pem")
    monkeypatch.setenv("REDIS_KEY_FILE", "")
    assert tls_files(Environment(), "REDIS") == {"ca_certs": "/etc/ca.pem"}
