"""A list's timeline: what its people said and its owner may see, newest first; always from PostgreSQL.

A list has at most 500 people, each of them one bounded scan of an index; nothing is pushed to lists.
"""

from apps.accounts.models import User
from apps.lists.models import RepliesPolicy, UserList
from apps.paging import Cursor, Page
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import fill_page, not_muted_nor_hidden
from apps.timeline.sources import sql


def list_timeline(owner: User, user_list: UserList, cursor: Cursor) -> Page[FeedItem]:
    policy = RepliesPolicy(user_list.replies_policy)

    def source(walk: Cursor, count: int) -> list[int]:
        return sql.list_ids(owner.pk, user_list.pk, policy, walk, count)

    return fill_page(source, viewer_id=owner.pk, cursor=cursor, rule=not_muted_nor_hidden)
