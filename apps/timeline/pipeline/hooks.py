"""Hooks through which optional apps add to pages: promoted posts, and previews of links.

Promoted posts are by accounts that the reader does not follow. The candidates come by virtual follows
(`sources.virtual_follows`), and every read decides again which of them are on the page.
"""

from collections.abc import Callable, Iterable, Mapping

from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.posts.content.post import PostContent
from apps.timeline.pipeline.items import LinkPreview, Promotion
from feedcache.read_through import Batch

# Takes an open post that no follow and no tag brought; returns the promotion that puts it on the page, or None.
PromotionOf = Callable[[PostContent], Promotion | None]

# Called once per page, with the reader and the first batch, to queue reads in it; without a batch, they are made later.
PROMOTERS = Hook[Callable[[User, Batch | None], PromotionOf]]()

# Called with all posts of a page: the previews to show, by the ids of posts.
LINK_PREVIEWS = Hook[Callable[[Iterable[PostContent]], Mapping[int, LinkPreview]]](maximum=1)
