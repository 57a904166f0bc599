"""`manage.py index_posts`: write the tags and the words of all posts anew, at once; workers do it by themselves after an upgrade."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from apps.search.indexing import index_new_people, next_posts, tag_and_index
from apps.search.trends import rank_posts
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
                tag_and_index(ids)
            after, number = ids[-1], number + len(ids)
            self.stdout.write(f"{number} posts, up to {after}")
        while index_new_people():
            pass
        count_days()
        rank_posts()
