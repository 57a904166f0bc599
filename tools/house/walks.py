"""Traces of a warm home page of the demo site and of a publication. Import this module after Django is set up."""

from functools import partial

from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.demo.actions import seed
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.cache import POST_COUNTS
from apps.timeline.home import home_timeline
from feedcache.structures.counters import maintenance
from runner.checkout import ROOT
from tools.house.trace import Trace, trace

READER = "alice"
BUILD_SECONDS = 20.0  # more than the demo's counts need
OWN, LIBRARY = ("apps", "feedsite"), "feedcache"


def home_and_publish(*, warm: int) -> dict[str, Trace]:
    seed(size="small", seed_number=1, advance=lambda _what, _number: None)
    for counts in (POST_COUNTS, USER_COUNTS):  # as beat does on a running site
        maintenance.maintain(counts, seconds=BUILD_SECONDS)
    found = {}
    for _warm in range(warm):  # the last run counts
        found = {
            "home_timeline": _trace_home(user_by_handle(READER)),
            "publish_post": _trace_publication(user_by_handle(READER)),
        }
    return found


def _trace_home(viewer: User) -> Trace:
    return trace(partial(home_timeline, viewer, Cursor(limit=20)), ROOT, OWN, library=LIBRARY)


def _trace_publication(author: User) -> Trace:
    return trace(partial(publish_post, author, Draft(body="One more.")), ROOT, OWN, library=LIBRARY)
