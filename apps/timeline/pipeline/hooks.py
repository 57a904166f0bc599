"""What optional apps add to home pages: posts that they promote, of accounts that the reader does not follow.

The candidates come by virtual follows (`sources.virtual_follows`); which of them are on a page is asked at every read.
"""

from collections.abc import Callable

from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.posts.content.post import PostContent
from apps.timeline.pipeline.items import Promotion
from feedcache.read_through import Batch

# Of an open post that nothing else brings: why it is on the page all the same; None: it is not.
PromotionOf = Callable[[PostContent], Promotion | None]

# For a reader, from what is queued in the first round trip of a page; without a batch it is read when it is needed.
PROMOTERS = Hook[Callable[[User, Batch | None], PromotionOf]]()
