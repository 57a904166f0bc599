"""A web server that serves what production serves, and passwords that it can check."""

import pytest

from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from tests.support.factories import PASSWORD, deliver, make_user, publish
from tests.support.processes import start_web, start_worker, stop
from tests.support.streams import streaming_server
from tools.vitals.stage import Cast

POSTS = 25


@pytest.fixture
def _beside_a_browser(transactional_db, monkeypatch, settings):
    """Passwords are what a web server can check."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    # Playwright keeps an event loop running in this thread, and the tests still use the ORM in it
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")


@pytest.fixture
def worker(_beside_a_browser, tmp_path, static_files):
    """A worker, which imports what the stage uploads."""
    process = start_worker(tmp_path, **static_files)
    yield
    stop(process)


@pytest.fixture
def site(worker, tmp_path, static_files):
    """The address of a web server on the tests' database,
    with static files as in production, and a streaming server.
    """
    with streaming_server(tmp_path) as streams:
        process, address = start_web(tmp_path, STREAMING_URL=streams, **static_files)
        try:
            yield address
        finally:
            stop(process)


@pytest.fixture
def cast(_beside_a_browser):
    """Somebody who follows an author with a page of posts of many kinds."""
    viewer, author = make_user("viewer", display_name="一位读者"), make_user("author")
    follow_user(viewer, author)
    first = publish(author, "One #thing after another, and https://example.org/somewhere.")
    publish(author, "Behind a warning.", content_warning="The end of the story", sensitive=True)
    publish(author, "Quoted.", quote_of_id=first.pk)
    publish(author, "w" * 400, language="de")
    for number in range(POSTS):
        publish(author, f"第 {number} 条。", language="zh")
    publish(viewer, "@author An answer.", reply_to_id=first.pk)
    mine = publish(viewer, "Mine.")
    publish(author, "@viewer Yours.", reply_to_id=mine.pk)
    like_post(author, mine.pk)
    deliver()
    return Cast("viewer", PASSWORD, author="author", tag="thing", word="another")
