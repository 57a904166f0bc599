"""Reads pages one after another, and collects the ids on them."""

from apps.pagination import Cursor

MAX_PAGES = 1_000

# Markup of pages, whatever their wording and language.
EMPTY = 'class="empty"'  # a list without rows
END = 'class="end-of-list"'
QUESTION = 'id="question"'  # the confirmation before an action
ERROR = 'class="errorlist'  # in a form
LABEL = 'class="reason"'  # why a post is on a page: its promotion, or the rules of the feed


def ids(page):
    return [item.id for item in page.items]


def walk(page_at, limit):
    """The ids of all pages, from the newest down."""
    found, cursor = [], Cursor(limit=limit)
    for _page in range(MAX_PAGES):
        page = page_at(cursor)
        assert len(page.items) <= limit
        found += ids(page)
        if page.older is None:
            return found
        cursor = Cursor(max_id=page.older, limit=limit)
    raise AssertionError("no end")


def walk_up(page_at, limit):
    """The same ids, read from the oldest up. A page without items may still have a newer one."""
    found, cursor = [], Cursor(min_id=0, limit=limit)
    for _page in range(MAX_PAGES):
        page = page_at(cursor)
        found = ids(page) + found
        if page.newer is None:
            return found
        cursor = Cursor(min_id=page.newer, limit=limit)
    raise AssertionError("no end")


def answered_ids(response):
    """The ids in a list that the API returned."""
    assert response.status_code == 200, response.content
    return [int(entity["id"]) for entity in response.json()]
