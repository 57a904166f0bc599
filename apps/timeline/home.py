"""The home timeline: posts by the viewer and their followees, for their circles, and with followed tags; newest first.

Candidates come from `sources.home`, the rules are in `pipeline.rulebook`, and `pipeline.page` makes a page from both.
An optional app may add candidates by accounts that the viewer does not follow (`sources.virtual_follows`); these are
shown only while the app promotes them to the viewer (`pipeline.hooks`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from apps import deadline
from apps.accounts.models import User
from apps.filters.models import FilterContext
from apps.graph.queries import ask_recent_follows
from apps.pagination import Cursor, Page
from apps.timeline.fanout import lag
from apps.timeline.pipeline import rulebook
from apps.timeline.pipeline.facts import (
    ReaderFacts,
    facts_now,
    facts_of_home,
    nothing_promoted,
    promotions_for,
)
from apps.timeline.pipeline.hooks import PromotionOf
from apps.timeline.pipeline.hydrate import Hydrated, hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Assembled, Batches, Reader, assemble
from apps.timeline.pipeline.rulebook import Verdict, decide, passed
from apps.timeline.pipeline.sampling import sample_home
from apps.timeline.sources.found import Via
from apps.timeline.sources.home import candidates, queue_ranges
from feedcache.ids import is_possible
from feedcache.read_through import Batch


def home_timeline(
    viewer: User, cursor: Cursor, *, exclude_read: bool | None = None, promoted: bool = True
) -> Page[FeedItem]:
    """A page of the viewer's home. `exclude_read` omits posts that the viewer has read; None: as their setting says.

    `promoted=False` leaves out promoted posts, for clients that might not show their label. Ascending pages never have
    promoted posts.
    """
    exclude_read = viewer.hides_read if exclude_read is None else exclude_read
    page = assemble_home(viewer, cursor, exclude_read=exclude_read, promoted=promoted).page
    sample_home(viewer.pk, cursor, page, exclude_read=exclude_read, promoted=promoted)
    return page


def assemble_home(
    viewer: User,
    cursor: Cursor,
    *,
    exclude_read: bool,
    promoted: bool = True,
    pulls_all: bool = False,
) -> Assembled:
    """A page of home, with the verdict on each candidate. With `pulls_all`, outboxes replace the home window."""
    if cursor.max_id is None and lag.latest.waiting:  # some delivery is unfinished
        _note_behind(viewer)
    batches = Batches(Batch(), Batch())
    queued = queue_ranges(batches.first, viewer.pk, cursor)
    # the positions of promoted posts are counted from the top, so an ascending page has none
    has_promotions = promoted and not cursor.ascending
    complete_facts = facts_of_home(
        viewer,
        promotion_of=(
            promotions_for(viewer, batches.first) if has_promotions else nothing_promoted
        ),
        recent_follows=ask_recent_follows(batches.second, viewer.pk, viewer.counts.graph_revision),
        hides_read=exclude_read,
    )
    return assemble(
        candidates(viewer, queued=queued, pulls_all=pulls_all),
        Reader(viewer, FilterContext.HOME),
        cursor=cursor,
        book=rulebook.HOME_RULES,
        complete_facts=complete_facts,
        batches=batches,
    )


def _note_behind(viewer: User) -> None:
    """Show the delay on the page, if the delivery of posts by the viewer's followees is late."""
    behind = lag.latest.behind_for(viewer.pk, revision=viewer.counts.graph_revision)
    if behind:
        deadline.note_behind(behind)


@dataclass(frozen=True, slots=True)
class Look:
    """The verdict of home's rules on one post. `via`: how it became a candidate; None if it did not."""

    verdict: Verdict
    via: Via | None
    facts: ReaderFacts

    @property
    def is_on_home(self) -> bool:
        """Whether the post is on home. Also true if only the spacing of promoted posts, which varies, dropped it."""
        return self.via is not None and self.verdict.rule in {None, rulebook.SPACED}


def look_up(viewer: User, post_id: int) -> Look | None:
    """Assemble a page of home that can contain only this post, and return the verdict on the post.

    If the post is not a candidate, the rules are applied to it all the same. None if the viewer may not see the post.
    """
    if not is_possible(post_id):
        return None
    place = Cursor(max_id=post_id + 1, since_id=post_id - 1, limit=1)
    page = assemble_home(viewer, place, exclude_read=viewer.hides_read)
    if page.verdicts:
        return Look(page.verdicts[0], page.via(post_id), page.facts)
    found = hydrate(viewer.pk, [post_id])
    facts = _facts(viewer, found, promotions_for(viewer), hides_read=viewer.hides_read)
    verdicts = decide(found.items, facts, rulebook.HOME_RULES)
    return Look(verdicts[0], None, facts) if verdicts else None


def home_items(viewer: User, post_ids: Sequence[int], *, promoted: bool = True) -> list[FeedItem]:
    """Of up to 200 posts, those that belong on the viewer's home now, in the given order; used for late arrivals.

    Posts that the viewer has read are included.
    """
    if not post_ids:
        return []
    found = hydrate(viewer.pk, post_ids)
    facts = _facts(viewer, found, promotions_for(viewer) if promoted else nothing_promoted)
    return passed(found.items, facts, rulebook.HOME_RULES)


def _facts(
    viewer: User, found: Hydrated, promotion_of: PromotionOf, *, hides_read: bool = False
) -> ReaderFacts:
    """The facts with which home's rules are applied to posts that are not candidates of a page."""
    facts = facts_now(viewer, FilterContext.HOME, found.relations)
    complete_facts = facts_of_home(viewer, promotion_of=promotion_of, hides_read=hides_read)
    return complete_facts(facts, found.items)
