"""The programs of docs/bot.md and docs/webhooks.md, run as the pages say."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from apps.accounts.actions import issue_token
from apps.posts.models import Post
from apps.webhooks import sending
from apps.webhooks.actions import change_endpoint, create_endpoint, rotate_secret, send_again
from apps.webhooks.models import Delivery, Endpoint, Kind
from tests.support import npm
from tests.support.factories import deliver, delivered
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.flows, pytest.mark.long]

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture(params=["word_bot.py", "word_bot.mjs"])
def command(request):
    program = sys.executable if request.param.endswith(".py") else npm.node()
    return [program, str(EXAMPLES / request.param)]


@contextmanager
def running(command, address, token, place):
    """A bot that listens; its process is stopped afterwards, as with kill."""
    said = place / "said.txt"
    with said.open("w") as output:
        bot = subprocess.Popen([*command, address, token], cwd=place, stdout=output, stderr=output)
    try:
        wait_until(lambda: "listening" in said.read_text(), said.read_text)
        yield bot
    finally:
        bot.kill()
        bot.wait()


def answers(bob):
    deliver()
    return {
        post.reply_to_id: (post.body, post.visibility) for post in Post.objects.filter(author=bob)
    }


def test_a_bot_answers_each_mention_once(streamed, tmp_path, command, alice, bob):
    token = issue_token(bob, name="bot", scopes="read write")
    with running(command, streamed, token, tmp_path):
        first = delivered(alice, "@bob how many\nwords are 这些?")
        wait_until(lambda: first.pk in answers(bob), "the bot has answered")
        wait_until((tmp_path / "word_bot.place").exists, "the bot has noted its place")
    meanwhile = [
        delivered(alice, "@bob still there?", visibility=visibility)
        for visibility in ("public", "mentioned")
    ]
    delivered(alice, "To nobody.")
    with running(command, streamed, token, tmp_path):
        wait_until(lambda: len(answers(bob)) == 3, "the bot has caught up")
        last = delivered(alice, "@bob and now?")
        wait_until(lambda: last.pk in answers(bob), "the bot goes on")
    assert answers(bob) == {
        first.pk: ("@alice Words: 5", "public"),
        meanwhile[0].pk: ("@alice Words: 2", "public"),
        meanwhile[1].pk: ("@alice Words: 2", "mentioned"),
        last.pk: ("@alice Words: 2", "public"),
    }
    assert Post.objects.filter(author=bob).count() == 4


def test_a_bot_ends_with_its_token(streamed, tmp_path, command, bob):
    said = subprocess.run(
        [*command, streamed, "wrong"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert said.returncode == 1
    assert "token" in said.stderr


@pytest.fixture(params=["webhook_receiver.py", "webhook_receiver.mjs"])
def receiver(request):
    program = sys.executable if request.param.endswith(".py") else npm.node()
    return [program, str(EXAMPLES / request.param)]


def test_a_receiver_takes_only_what_is_signed_and_only_once(receiver, settings, tmp_path, alice):
    settings.WEBHOOKS_ANYWHERE = True
    endpoint, secret = create_endpoint(alice, "http://127.0.0.1/", [Kind.CREATED])
    with running(receiver, "0", secret, tmp_path):
        said = tmp_path / "said.txt"
        wait_until(lambda: said.read_text().endswith("\n"), "the receiver says its port")
        port = said.read_text().split()[-1]
        endpoint = change_endpoint(endpoint, address=f"http://127.0.0.1:{port}/")
        post = delivered(alice, "Hello.")
        for _attempt in range(2):
            assert sending.send_due(endpoint.pk) == 1
            row = Delivery.objects.get()
            assert row.status == 204
            send_again(endpoint, row)
        rotate_secret(endpoint)
        assert sending.send_due(endpoint.pk) == 1
        assert Delivery.objects.get().status == 204, "the former secret signs, too"
        Endpoint.objects.update(former_until=None)
        send_again(endpoint, row)
        assert sending.send_due(endpoint.pk) == 1
        assert Delivery.objects.get().status == 401
        assert said.read_text().splitlines()[1:] == [f"status.created {post.pk}"]


@pytest.mark.parametrize(("name", "function"), [
    ("webhook_receiver.py", r"(?s)def is_genuine.*?\n\n"), ("webhook_receiver.mjs", r"(?s)function isGenuine.*?\n}\n"),
])  # fmt: skip
def test_the_page_shows_the_function_of_the_program(name, function):
    [code] = re.findall(function, (EXAMPLES / name).read_text())
    assert code.strip() in (EXAMPLES.parent / "webhooks.md").read_text()
