"""Celery's entry points to the index and to the trends."""

from celery import shared_task

from apps.search.indexing import index_new_people
from apps.search.trends import rank_posts

MOST_BATCHES = 10  # of one turn


@shared_task
def index_newcomers() -> None:
    """Index the accounts that were made since the last turn."""
    for _batch in range(MOST_BATCHES):
        if not index_new_people():
            return


@shared_task
def rank_trends() -> None:
    """Say anew which posts are read most."""
    rank_posts()
