"""A list's timeline: posts of its members that the owner may see, newest first; always from PostgreSQL.

A list has at most 500 members, one bounded index scan each; nothing is pushed to lists.
"""

from functools import partial

from apps.accounts.models import User
from apps.lists.models import RepliesPolicy, UserList
from apps.paging import Cursor, Page
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import fill_page, not_muted_nor_hidden
from apps.timeline.sources import sql


def list_timeline(owner: User, user_list: UserList, cursor: Cursor) -> Page[FeedItem]:
    policy = RepliesPolicy(user_list.replies_policy)

    source = partial(sql.list_ids, owner.pk, user_list.pk, policy)
    return fill_page(source, viewer_id=owner.pk, cursor=cursor, rule=not_muted_nor_hidden)
