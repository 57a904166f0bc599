"""A warm home page and a publication on a site of a few people; imported once Django is set up."""

from functools import partial

from apps.accounts.actions import register
from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.events import actions as events
from apps.graph.actions import follow_user
from apps.paging import Cursor
from apps.posts.actions import publish_post
from apps.posts.drafts import Draft
from apps.timeline.delivery import fanout
from apps.timeline.home import home_timeline
from runner.checkout import ROOT
from tools.house.trace import Trace, trace

AUTHORS, POSTS_EACH, WARM = 5, 8, 3
OWN = ("apps", "feedsite", "feedcache")


def home_and_publish() -> dict[str, Trace]:
    """Both traces, by the name of the function."""
    reader = _register("reader")
    authors = [_register(f"author{number}") for number in range(AUTHORS)]
    for author in authors:
        follow_user(reader, author)
    for number in range(POSTS_EACH):
        for author in authors:
            publish_post(author, Draft(body=f"Post {number}."))
    while events.run_due(limit=100) or fanout.run_due(limit=100):
        pass
    draft = Draft(body="One more.")
    for _warm in range(WARM):
        _home("reader")
        publish_post(authors[0], draft)
    return {
        "home_timeline": _home("reader"),
        "publish_post": trace(partial(publish_post, authors[0], draft), ROOT, OWN),
    }


def _register(handle: str) -> User:
    register(handle=handle, password="only for a measurement", email=None, by_operator=True)  # noqa: S106 -- of nobody
    return user_by_handle(handle)


def _home(handle: str) -> Trace:
    """The trace of a full page of somebody who has just been loaded, as a request finds them."""
    viewer, cursor = user_by_handle(handle), Cursor(limit=20)
    if len(home_timeline(viewer, cursor).items) < cursor.limit:
        raise RuntimeError("the page is not full")
    return trace(partial(home_timeline, user_by_handle(handle), cursor), ROOT, OWN)
