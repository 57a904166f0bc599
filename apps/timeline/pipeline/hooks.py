"""Hooks that let optional apps add promoted posts and link previews to pages.

Promoted posts are by accounts that the reader does not follow. Virtual follows make them candidates
(`sources.virtual_follows`), and each read decides which of them are on the page.
"""

from collections.abc import Callable, Iterable, Mapping

from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.posts.content.post import PostContent
from apps.timeline.pipeline.items import LinkPreview, Promotion
from feedcache.read_through import Batch

# Takes an open post that is on the page neither by a follow nor by a tag; returns the post's promotion, or None.
PromotionOf = Callable[[PostContent], Promotion | None]

# Called once per page with the reader and the first batch, in which it queues reads; without a batch, it reads later.
PROMOTERS = Hook[Callable[[User, Batch | None], PromotionOf]]()

# Called with all posts of a page; returns the previews to show, by post id.
LINK_PREVIEWS = Hook[Callable[[Iterable[PostContent]], Mapping[int, LinkPreview]]](maximum=1)
