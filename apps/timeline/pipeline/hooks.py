"""What optional apps add to home pages: posts that they promote, of accounts that the reader does not follow.

The candidates come by virtual follows (`sources.virtual_follows`); every read asks again which of them are on the page.
"""

from collections.abc import Callable

from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.posts.content.post import PostContent
from apps.timeline.pipeline.items import Promotion
from feedcache.read_through import Batch

# Takes an open post that is there by no follow and no tag; returns the promotion that puts it on the page, or None.
PromotionOf = Callable[[PostContent], Promotion | None]

# Called once a page, with the reader and the first batch, to queue reads in it; without a batch, they are made later.
PROMOTERS = Hook[Callable[[User, Batch | None], PromotionOf]]()
