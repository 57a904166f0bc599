"""A count, a flag or a table that no mark declares is an error at the start, which names it and where to put it."""

from django.apps import apps
from django.db import models
from django.test.utils import isolate_apps

from apps.accounts.models import User
from apps.engagement import checks
from apps.engagement.checks import check_marks
from apps.engagement.marks import MARKS, ViewerFlags
from apps.posts.models import Counts, Post


def errors():
    return [error.msg for error in check_marks()]


def test_everything_is_declared():
    assert errors() == []


def test_a_count_of_no_mark_is_named(monkeypatch):
    monkeypatch.setattr(checks, "MARKS", [mark for mark in MARKS if mark.kind != "like"])
    assert errors() == [
        "posts_postcounts.likes belongs to no mark.",
        "The field 'liked' of ViewerFlags belongs to no mark.",
        "engagement.Like refers to a user and a post, but belongs to no mark.",
    ]
    assert {error.hint for error in check_marks()} == {checks.HINT}
    assert "apps/engagement/marks.py" in checks.HINT


def test_counts_that_pages_get_are_the_columns_in_their_order(monkeypatch):
    monkeypatch.setattr(Counts, "_fields", (*Counts._fields[1:], Counts._fields[0]))
    [message] = errors()
    assert "same order" in message


def test_a_flag_that_no_page_has_is_named(monkeypatch):
    fields = [name for name in ViewerFlags._fields if name != "bookmarked"]
    monkeypatch.setattr(ViewerFlags, "_fields", tuple(fields))
    assert errors() == ["The field 'bookmarked' of ViewerFlags does not exist."]


@isolate_apps("apps.engagement")
def test_a_new_table_of_a_user_and_a_post_is_noticed(monkeypatch):
    class Wink(models.Model):
        user = models.ForeignKey(User, models.CASCADE, related_name="+")
        post = models.ForeignKey(Post, models.CASCADE, related_name="+")

        class Meta:
            app_label = "engagement"

    known = apps.get_models()
    monkeypatch.setattr(apps, "get_models", lambda: [*known, Wink])
    assert errors() == ["engagement.Wink refers to a user and a post, but belongs to no mark."]
