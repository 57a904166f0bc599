"""`manage.py index_posts`: write the tags and the words of all posts: once after an upgrade to the release with search."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from apps.posts.models import Kind, Post, Visibility
from apps.posts.text import tag_names
from apps.search.indexing import index_new_people, index_posts, next_posts
from apps.search.trends import rank_posts
from apps.tags.actions import add_tags
from apps.tags.counting import count_days


class Command(BaseCommand):
    """A thousand posts a transaction, in the order of their ids; it may be stopped, and run again."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to go on."""
        parser.add_argument("--after", type=int, default=0, help="go on behind this post id")

    def handle(self, *args: Any, **options: Any) -> None:
        """Walk through all posts, then through the accounts that are not indexed yet."""
        after, number = options["after"], 0
        while ids := next_posts(after):
            with transaction.atomic():
                _tag(ids)
                index_posts(ids)
            after, number = ids[-1], number + len(ids)
            self.stdout.write(f"{number} posts, up to {after}")
        while index_new_people():
            pass
        count_days()
        rank_posts()


def _tag(ids: list[int]) -> None:
    rows = Post.objects.filter(pk__in=ids, deleted_at=None, body__contains="#")
    said = rows.exclude(kind=Kind.REPOST).only("visibility", "body")
    add_tags((post.pk, tag_names(post.body), post.visibility == Visibility.PUBLIC) for post in said)
