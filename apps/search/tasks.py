"""Celery tasks of the search index and the trends."""

from celery import shared_task

from apps.search import indexing
from apps.search.models import IndexWalk
from apps.search.trends import rank_posts

MAX_BATCHES = 10  # per run


@shared_task
def index_newcomers() -> None:
    """Index the accounts created since the last run."""
    for _batch in range(MAX_BATCHES):
        if not indexing.index_new_people():
            return


@shared_task
def index_older_posts() -> None:
    """Tag and index posts that are older than this version of the index, so that an upgrade needs no manual step."""
    for _batch in range(MAX_BATCHES):
        if not indexing.index_older(IndexWalk.Kind.POSTS):
            return


@shared_task
def index_older_people() -> None:
    """Index the names of accounts that are older than this version of the index."""
    for _batch in range(MAX_BATCHES):
        if not indexing.index_older(IndexWalk.Kind.PEOPLE):
            return


@shared_task
def rank_trends() -> None:
    rank_posts()
