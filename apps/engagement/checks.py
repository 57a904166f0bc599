"""A system check: every count, flag and table of readers' actions on posts must belong to a mark."""

from collections import Counter
from collections.abc import Iterator

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core import checks
from django.core.checks import CheckMessage, Error
from django.db.models import Model

from apps.engagement.marks import MARKS, ViewerFlags
from apps.posts.models import Counts, Poll, Post, PostCounts

# COUNTS_OF_POSTS count other posts that refer to a post; NO_COUNTS are columns that count nothing.
COUNTS_OF_POSTS = {"replies", "quotes"}
NO_COUNTS = {"post", "author_id", "revision"}
FLAGS_OF_POSTS = {"own", "muted"}
# Tables that refer to a user and a post, each with the reason why it is not a mark.
NO_MARKS = {
    "posts.Mention": "part of the text of a post",
    "posts.IdempotencyKey": "recognizes a repeated request",
    "notifications.Notification": "an action of another person",
    "notifications.Conversation": "the place of a reader in a thread",
}
HINT = "Declare it in apps/engagement/marks.py."


def check_marks(**_options: object) -> list[CheckMessage]:
    return [Error(text, hint=HINT, id="engagement.E001") for text in _mistakes()]


def _mistakes() -> Iterator[str]:
    columns = [field.name for field in PostCounts._meta.fields if field.name not in NO_COUNTS]
    if columns != list(Counts._fields):
        yield (
            f"The counts of posts are {', '.join(columns)} in the table, but {', '.join(Counts._fields)} in"
            " apps.posts.models.Counts: they must be the same, in the same order."
        )
    declared = Counter(name for mark in MARKS for name in mark.counts)
    for name in sorted({*columns, *Counts._fields} ^ {*declared, *COUNTS_OF_POSTS}):
        known = "belongs to no mark" if name in columns else "is not a column"
        yield f"{PostCounts._meta.db_table}.{name} {known}."
    flags = {mark.flag for mark in MARKS if mark.flag}
    for name in sorted(set(ViewerFlags._fields) ^ (flags | FLAGS_OF_POSTS)):
        known = "belongs to no mark" if name in ViewerFlags._fields else "does not exist"
        yield f"The field {name!r} of ViewerFlags {known}."
    models = {mark.model for mark in MARKS}
    for model in apps.get_models():
        if _may_be_a_mark(model) and model not in models and model._meta.label not in NO_MARKS:
            yield f"{model._meta.label} refers to a user and a post, but belongs to no mark."


def _may_be_a_mark(model: type[Model]) -> bool:
    related = {field.name: field.related_model for field in model._meta.fields}
    is_of_post = any(other in (Post, Poll) for other in related.values())
    return is_of_post and related.get("user") is get_user_model()


checks.register(check_marks)
