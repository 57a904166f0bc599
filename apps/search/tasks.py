"""Celery's entry points to the index and to the trends."""

from celery import shared_task

from apps.search import indexing
from apps.search.trends import rank_posts

MAX_BATCHES = 10  # of one turn


@shared_task
def index_newcomers() -> None:
    """Index the accounts that were made since the last turn."""
    for _batch in range(MAX_BATCHES):
        if not indexing.index_new_people():
            return


@shared_task
def index_older_posts() -> None:
    """Index what was written before there was this index: after an upgrade nobody has to do it by hand."""
    for _batch in range(MAX_BATCHES):
        if not indexing.index_older_posts():
            return


@shared_task
def rank_trends() -> None:
    """Say anew which posts are read most."""
    rank_posts()
