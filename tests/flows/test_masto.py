"""masto, the library inside popular web clients, unmodified: home to its end, a post, a stream over a WebSocket."""

import json
import subprocess
import threading
from pathlib import Path

import pytest

from apps.accounts.actions import issue_token
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from tests.support import npm
from tests.support.factories import deliver, delivered, publish
from tests.support.streams import streaming_server

pytestmark = pytest.mark.flows

PLACE = Path(__file__).parent / "masto"
SESSION_SECONDS = 60


@pytest.fixture(scope="module")
def node():
    """The interpreter, once the library is there as its lock file has it."""
    program = npm.node()
    npm.installed(PLACE, "masto")
    return program


def test_it_reads_home_to_its_end_posts_and_listens(served, tmp_path, node, alice, bob):
    ids = [publish(alice, f"number {number}").pk for number in range(45)]
    deliver()
    token = issue_token(bob, name="masto")
    with streaming_server(tmp_path) as streams:
        process = subprocess.Popen(
            [node, "session.mjs", served, streams, token],
            cwd=PLACE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        alarm = threading.Timer(SESSION_SECONDS, process.kill)
        alarm.start()
        try:
            said = lines_of(process)
            assert next(said) == {"me": "bob"}
            assert next(said) == {"posted": "<p>From a web client.</p>"}
            home = next(said)["home"]
            sent = Post.objects.get(author=bob).pk  # first, unless alice has borrowed later seconds
            assert home == [str(pk) for pk in sorted([sent, *ids], reverse=True)]
            assert next(said) == {"listening": True}
            deliver()  # what bob posted is news too
            assert next(said) == {"event": "update", "id": str(sent), "stream": ["user"]}
            fresh = delivered(alice, "News.")
            assert next(said) == {"event": "update", "id": str(fresh.pk), "stream": ["user"]}
            delete_post(fresh.pk, by=alice)
            deliver()
            assert next(said) == {"event": "delete", "id": str(fresh.pk), "stream": ["user"]}
            assert process.wait(SESSION_SECONDS) == 0
        finally:
            alarm.cancel()
            process.kill()
            process.communicate()


def lines_of(process):
    """What the session says; what is no JSON is an error of its."""
    for line in process.stdout or ():
        yield json.loads(line)
