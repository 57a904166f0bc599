"""PostgreSQL, the broker and Cassandra with TLS, as a process of the site that has just started finds them."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from runner import privileges
from runner.services.postgres import NAME, THROWAWAY, Postgres
from tests.support import tls
from tests.support.ports import free_port
from tools.scale import cassandra as cassandra_servers
from tools.scale.certificates import make_certificates
from tools.scale.servers import RABBITMQ, rabbitmq

pytestmark = pytest.mark.flows

ROOT = Path(__file__).resolve().parents[2]
POSTGRESQL = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
SEND = """
import django; django.setup()
from feedsite.celery import app
with app.connection_for_write() as connection:
    connection.ensure_connection(max_retries=0, timeout=5)
    queue = connection.SimpleQueue("tls")
    queue.put({"number": 7})
    print(queue.get(timeout=10).payload["number"])
"""
ASK = """
import django; django.setup()
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    print(cursor.fetchone()[0])
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("stranger"))


def site(*command, **environment):
    """A process of the site with these settings."""
    known = {**os.environ, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "feedsite.settings"}
    return subprocess.run(
        [sys.executable, "-P", *command], env={**known, **environment}, cwd=ROOT,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def check(**environment):
    return site("manage.py", "check", **environment).stderr


# --- the broker ------------------------------------------------------------------------------------


def broker_files(files):
    return {
        "CELERY_BROKER_CA_FILE": str(files.ca),
        "CELERY_BROKER_CERT_FILE": str(files.certificate),
        "CELERY_BROKER_KEY_FILE": str(files.key),
    }


def exchange(url, files, stranger, **more):
    """Messages come through; with another authority the site does not start."""
    settings = {"CELERY_BROKER_URL": url, **more}
    done = site("-c", SEND, **settings, **broker_files(files))
    assert done.stdout == "7\n", done.stderr
    said = check(**settings, **broker_files(stranger))
    assert "CELERY_BROKER_URL: no TLS with 127.0.0.1" in said
    assert "certificate verify failed" in said


def test_redis_as_the_broker(tmp_path, files, stranger):
    with tls.server(tmp_path, files) as (_server, port):
        url = f"rediss://127.0.0.1:{port}/0"
        exchange(url, files, stranger)
        sent = site("-c", SEND, CELERY_BROKER_URL=url, **broker_files(stranger))
        assert "OperationalError" in sent.stderr


def test_redis_behind_a_sentinel_as_the_broker(tmp_path, files, stranger):
    with (
        tls.server(tmp_path, files) as (_server, port),
        tls.sentinel(tmp_path, files, port) as behind,
    ):
        address = behind.removeprefix("rediss+sentinel://").partition("/")[0]
        more = {"CELERY_BROKER_MASTER": "feedsite", "CELERY_BROKER_TLS": "1"}
        exchange(f"sentinel://{address}/0", files, stranger, **more)


@pytest.mark.skipif(not RABBITMQ.exists(), reason="no RabbitMQ on this machine")
def test_rabbitmq(tmp_path, files, stranger):
    with rabbitmq(tmp_path / "rabbitmq", certificates=files) as server:
        assert server.url.startswith("amqps://")
        exchange(server.url, files, stranger)


# --- PostgreSQL ------------------------------------------------------------------------------------


@contextmanager
def postgresql(directory, files):
    """A server of the distribution (the embedded one has no TLS) that takes connections with TLS only."""
    port = free_port()
    own = directory / "certificates"
    own.mkdir()
    for file in (files.certificate, files.key):
        shutil.copy(file, own)
        (own / file.name).chmod(0o600)
    privileges.take_ownership(own)
    options = {
        **THROWAWAY, "listen_addresses": "127.0.0.1", "port": str(port), "ssl": "on",
        "ssl_cert_file": str(own / files.certificate.name), "ssl_key_file": str(own / files.key.name),
        "shared_preload_libraries": "",
    }  # fmt: skip
    server = Postgres(directory / "data", directory, directory, options=options)
    server.programs = POSTGRESQL[-1].parent
    server._make_database = lambda: None
    server.start()
    try:
        yield f"postgres://{NAME}@127.0.0.1:{port}/postgres"
    finally:
        server.stop()


@pytest.mark.skipif(not POSTGRESQL, reason="no PostgreSQL with TLS on this machine")
def test_postgresql(tmp_path, files, stranger):
    with postgresql(tmp_path, files) as url:
        trusted = f"{url}?sslmode=verify-full&sslrootcert={files.ca}"
        done = site("-c", ASK, DATABASE_URL=trusted)
        assert done.stdout == "True\n", done.stderr
        said = check(DATABASE_URL=f"{url}?sslmode=verify-full&sslrootcert={stranger.ca}")
        assert "DATABASE_URL: no TLS" in said
        assert "certificate verify failed" in said


# --- Cassandra -------------------------------------------------------------------------------------


@pytest.mark.clusters
@pytest.mark.skipif(find_spec("cassandra") is None, reason="no driver of Cassandra")
def test_cassandra(tmp_path, files, stranger, settings):
    if reason := cassandra_servers.missing():
        pytest.skip(reason)
    stores: Any = pytest.importorskip("apps.second_level.stores.cassandra")
    with cassandra_servers.cassandra(tmp_path / "node", certificates=files) as node:
        assert node.url.endswith("&tls=1")
        address = stores.Address.parse(node.url)
        settings.CASSANDRA_TLS_FILES = {"ca_certs": str(files.ca)}
        stores.create_tables(address)
        assert stores.has_tables(address)
        settings.CASSANDRA_TLS_FILES = {"ca_certs": str(stranger.ca)}
        with pytest.raises(stores.ERRORS, match="(?i)certificate"):
            stores.has_tables(address)
        settings.CASSANDRA_TLS_FILES = {}
        with pytest.raises(stores.ERRORS):
            stores.has_tables(stores.Address.parse(node.url.replace("&tls=1", "")))
