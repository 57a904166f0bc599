"""Fixtures of the flows."""

import pytest

from tests.flows.browsing import author, chromium, reader, site, visit  # noqa: F401 -- fixtures
from tests.flows.firefox import firefox, visit_firefox  # noqa: F401 -- fixtures
from tests.support.factories import PASSWORD
from tests.support.processes import start_web, start_worker, stop
from tests.support.streams import streaming_server


@pytest.fixture
def worker(transactional_db, tmp_path):
    """A Celery worker with beat, in processes of its own; stopped by its own pid."""
    process = start_worker(tmp_path)
    yield process
    stop(process)


@pytest.fixture(scope="module")
def web_server(django_db_setup, tmp_path_factory):
    """The address of a web server on the tests' database, for all tests of a module."""
    process, address = start_web(tmp_path_factory.mktemp("served"))
    yield address
    stop(process)


@pytest.fixture(scope="module")
def web_server_with_streams(django_db_setup, tmp_path_factory):
    """The address of a web server that names a streaming server of its own, for all tests of a module."""
    directory = tmp_path_factory.mktemp("streamed")
    with streaming_server(directory) as streams:
        process, address = start_web(directory, STREAMING_URL=streams)
        try:
            yield address
        finally:
            stop(process)


@pytest.fixture
def served(transactional_db, web_server):
    """The address of a web server, on the database of the test."""
    return web_server


@pytest.fixture
def streamed(transactional_db, web_server_with_streams):
    """The address of a web server that names a streaming server."""
    return web_server_with_streams


@pytest.fixture
def with_password(alice, settings):
    """alice, whose password is hashed as the server on its own hashes it."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    alice.set_password(PASSWORD)
    alice.save()
    return alice


@pytest.fixture(autouse=True)
def _fast_passwords(request, settings):
    """Not where a browser logs in: the web server must be able to check the password."""
    if request.node.get_closest_marker("browser") is None:
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
