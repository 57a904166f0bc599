"""The budgets on the pages that most people see, in a real browser on a real server; `./run vitals` looks at all."""

import subprocess
import sys

import pytest

from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from runner.checkout import ROOT
from tests.factories import PASSWORD, deliver, make_user, publish
from tests.flows.processes import environment, start_web, stop
from vitals.browser import MISSING, PROGRAM
from vitals.budgets import lines_of
from vitals.pages import named
from vitals.report import findings
from vitals.stage import Cast, prepare
from vitals.survey import survey

NARROW = ("home", "thread", "compose", "notifications")
WIDE = ("landing", "profile", "search", "settings-account")
POSTS = 25

pytestmark = [pytest.mark.browser, pytest.mark.skipif(PROGRAM is None, reason=MISSING)]


@pytest.fixture(autouse=True)
def _fast_passwords():
    """Not here: the web server must be able to check them."""


@pytest.fixture
def cast(transactional_db):
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


@pytest.fixture
def site(cast, tmp_path, monkeypatch):
    """A web server with static files as they are served in production."""
    # Playwright keeps an event loop running in this thread, and the tests still use the ORM in it
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    files = {
        "STATICFILES_BACKEND": "feedsite.staticfiles.UncompressedStorage",
        "STATIC_ROOT": str(tmp_path / "static"),
    }
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, cwd=ROOT, env={**environment(), **files}, check=True)
    process, address = start_web(tmp_path, **files)
    yield address
    stop(process)


def test_the_budgets_hold(site, cast):
    scene = prepare(site, cast)
    looks = [
        *survey(scene, named(list(NARROW)), languages=("zh-hans",), widths=(390,)),
        *survey(scene, named(list(WIDE)), languages=("en",), widths=(1280,)),
    ]
    assert [f"{look.where}: {one}" for look in looks for one in findings(look)] == []
    assert [line for line in lines_of(looks) if not line.kept] == []
