"""`manage index_posts`: tags and indexes all posts and names again immediately, as workers do after an upgrade."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from apps.search.indexing import index_people_of, next_post_ids, next_user_ids, tag_and_index
from apps.search.trends import rank_posts
from apps.tags.trends import count_days


class Command(BaseCommand):
    """Index all posts and names for search, a thousand posts per transaction. Can be interrupted and repeated."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--after", type=int, default=0, help="continue after this post id")

    def handle(self, *args: Any, **options: Any) -> None:
        after, number = options["after"], 0
        while ids := next_post_ids(after):
            with transaction.atomic():
                tag_and_index(ids)
            after, number = ids[-1], number + len(ids)
            self.stdout.write(f"{number} posts, up to {after}")
        after = 0
        while ids := next_user_ids(after):
            index_people_of(ids)
            after = ids[-1]
        count_days()
        rank_posts()
