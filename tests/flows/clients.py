"""The unmodified clients from PyPI, on a real server; browsers press what their readers would."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from django.test import Client
from mastodon import Mastodon

SCOPES = ["read", "write", "follow", "push"]
TOOT_SECONDS = 60


def code_for(user, address):
    """The code that a reader gets who opens an address of the consent page and allows what it asks."""
    parts, browser = urlsplit(address), Client()
    browser.force_login(user)
    asked = f"{parts.path}?{parts.query}"
    assert browser.get(asked).status_code == 200
    page = browser.post(asked, {"allow": "1"}).content.decode()
    found = re.search(r'id="code">([^<]+)<', page)
    assert found, page
    return found[1]


def mastodon(user, address, scopes=SCOPES):
    """Mastodon.py, registered and logged in by code as a user."""
    client_id, secret = Mastodon.create_app("A program", scopes=scopes, api_base_url=address)
    program = Mastodon(client_id, secret, api_base_url=address)
    asked = program.auth_request_url(scopes=scopes)
    program.log_in(code=code_for(user, asked), scopes=scopes)
    return program


class Toot:
    """The command line client `toot`, with a configuration of its own."""

    def __init__(self, home: Path) -> None:
        self._command = [sys.executable, "-m", "toot"]
        self._env = {
            **os.environ,
            "XDG_CONFIG_HOME": str(home),
            "HOME": str(home),
            "PYTHONUNBUFFERED": "1",
        }

    def log_in(self, user, address):
        """Log in as people do: open an address, allow, paste the code."""
        process = subprocess.Popen(
            [*self._command, "login", "-i", address],
            env=self._env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        said = []
        for line in process.stdout:
            said.append(line)
            if "/oauth/authorize" in line:
                break
        else:
            raise AssertionError("".join(said))
        rest, _none = process.communicate(f"n\n{code_for(user, said[-1].strip())}\n", TOOT_SECONDS)
        assert process.returncode == 0, rest
        return rest

    def __call__(self, *words, said=None):
        """Run a command; what it prints. It must not fail."""
        done = subprocess.run(
            [*self._command, "--no-color", *words],
            env=self._env, input=said, text=True, capture_output=True, timeout=TOOT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
