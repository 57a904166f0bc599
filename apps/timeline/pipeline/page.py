"""Makes the pages of all timelines from candidate ids, a few round trips of reads, and the verdicts of the rules.

`assemble` takes these steps:

1. The first round trip (`Batches.first`) reads the viewer's filters, whether the caches are current, and whatever the
   timeline has queued (a descending page of home: its windows, and the promotions to this viewer).
2. The candidate ids are taken from the results. Home makes further reads for pulled authors, for posts with followed
   tags, below the windows, and if a window is missing.
3. The second round trip (`Batches.second`) reads the posts, their authors and counts, the viewer's relations and marks,
   and whatever the rules have queued (home: the recent follows). It includes the posts that these posts repost,
   quote or reply to if this process has cached their ids; up to two more round trips read the others.
4. The timeline's rule book gives its verdicts (`rulebook.decide`), with the viewer's filters last. Promoted posts that
   are too close together are dropped (`spaced`). If too few posts remain, steps 2 to 4 are repeated.

`apps.posts.queries` decides whether the viewer may see a post; `rulebook` decides whether it belongs on this page.

| store | step | contains | without it |
|---|---|---|---|
| Memcached | 1, 3 | filters, promotions; posts, authors, recent follows, own reposts, muted threads | PostgreSQL |
| Redis, configuration | 1 | whether Memcached is current | `is_fresh` is false: `hydrate._read_exactly` |
| Redis, timelines | 1 | the newest ids of home, the version of the policies | PostgreSQL (`sources.older`) |
| Redis, relations | 3 | the viewer's follows, mutes and blocks | PostgreSQL (`apps.graph.queries`) |
| Redis, counters | 3 | the counts of posts and of their authors | PostgreSQL |
| Redis, existence | 3 | posts certainly not marked or read by the viewer | PostgreSQL; every post counts as unread |
| PostgreSQL | | everything | 503 where it is queried |

With warm caches, a home page whose ids are in the windows queries PostgreSQL only for polls and restricted posts, for
likes, bookmarks and reactions that a Bloom filter reports (for "read", the filter alone decides), for reposts and muted
threads older than the cached ones, and for the viewer's exclusive lists, followed tags and chosen languages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from apps.accounts.models import User
from apps.filters.models import FilterContext
from apps.filters.queries import ask_active_filters
from apps.pagination import Cursor, Page, to_page
from apps.posts.queries import MAX_IDS, ViewerContext, ask_viewer_context
from apps.timeline.pipeline.facts import CompleteFacts, ReaderFacts, no_further_facts
from apps.timeline.pipeline.hydrate import hydrate_for
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.rulebook import SPACED, RuleBook, Verdict, decide, spaced
from apps.timeline.sources.found import Candidates, Found, Via
from feedcache.ids import first_id_at, second_of
from feedcache.read_through import Batch, Future
from feedcache.stats import stage

MAX_ROUNDS = 8  # after these, the page stays short, with a cursor to continue from


class Reader(NamedTuple):
    """The reader of a page (None for visitors), and the context for their filters (None: filters hide nothing)."""

    viewer: User | None
    filter_context: FilterContext | None


class Batches(NamedTuple):
    """The two round trips of a page, in which candidates and rules may queue more reads.

    `first` is sent before the candidates are read, `second` with the posts of the first candidates.
    """

    first: Batch
    second: Batch


@dataclass(frozen=True, slots=True)
class Assembled:
    """A page, and the verdict on each candidate. `placed`: the items that passed both the rules and the spacing."""

    page: Page[FeedItem]
    cursor: Cursor
    placed: Sequence[FeedItem]
    decided: Sequence[Verdict]
    found: Sequence[Found]
    facts: ReaderFacts  # used for the verdicts on the last candidates

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on the candidates that the reader may see, within the range of the page, in reading order."""
        places = {item.id for item in self.placed}
        within = [verdict for verdict in self.decided if self._is_within(verdict.item.id)]
        return [
            verdict
            if verdict.rule or verdict.item.id in places
            else Verdict(verdict.item, SPACED, verdict.item.author.handle)
            for verdict in within
        ]

    @property
    def invisible(self) -> int:
        """The number of candidates in the range of the page that are deleted or not visible to the reader."""
        seen = {verdict.item.id for verdict in self.decided}
        ids = {post_id for found in self.found for post_id in found.ids}
        return sum(map(self._is_within, ids - seen))

    def via(self, post_id: int) -> Via:
        """How a post became a candidate."""
        origins = (origin for found in self.found for origin in found.origins)
        return next((via for via, ids in origins if post_id in ids), Via.STORAGE)

    def _is_within(self, post_id: int) -> bool:
        if not self.cursor.ascending:
            return post_id >= (self.page.older or 0)
        is_full = len(self.placed) > self.cursor.limit
        return not is_full or post_id <= (self.page.newer or 0)


def fill_page(
    candidates: Candidates,
    reader: Reader,
    *,
    cursor: Cursor,
    book: RuleBook,
    batches: Batches | None = None,
) -> Page[FeedItem]:
    """Like `assemble`, but without the verdicts: for rule books that need only the reader's relations."""
    return assemble(candidates, reader, cursor=cursor, book=book, batches=batches).page


def assemble(
    candidates: Candidates,
    reader: Reader,
    *,
    cursor: Cursor,
    book: RuleBook,
    complete_facts: CompleteFacts = no_further_facts,
    batches: Batches | None = None,
) -> Assembled:
    """One page of a timeline. It is full unless the timeline ends, or eight rounds of candidates were not enough.

    After a round in which less than half of the candidates passed, the next round is twice as large, up to 200 ids.
    """
    first, second = batches or Batches(Batch(), Batch())
    facts, context = _read_first(first, reader)
    items, decided, rounds = list[FeedItem](), list[Verdict](), list[Found]()
    position, count, more = cursor, cursor.wanted, True
    for _round in range(MAX_ROUNDS):
        with stage("candidates"):
            found = candidates(position, count)
        hydrated = hydrate_for(context, found.ids, preloaded=found.contents, batch=second)
        second = Batch()  # the second batch has been executed; later rounds read only their posts
        with stage("rules"):
            facts = complete_facts(facts._replace(relations=hydrated.relations), hydrated.items)
            verdicts = decide(hydrated.items, facts, book)
        passed = [verdict.item for verdict in verdicts if verdict.rule is None]
        items = spaced([*items, *passed], attrgetter("promotion"))
        decided += verdicts
        rounds.append(found)
        more = len(found.ids) >= count
        if not more or len(items) > cursor.limit:
            break
        position = cursor.beyond(found.ids[-1])
        if 2 * len(passed) < count:
            count = min(2 * count, MAX_IDS)
    page = to_page(items, cursor, id_of=attrgetter("post.id"))
    if more and len(items) <= cursor.limit:
        page = _unfinished(page, cursor, position)
    return Assembled(page, cursor, items, decided, rounds, facts)


def _read_first(batch: Batch, reader: Reader) -> tuple[ReaderFacts, ViewerContext]:
    """Send the first batch: the reader's filters, a check of whether the caches are current, and all queued reads."""
    filters = ask_active_filters(batch, reader.viewer)
    context = _ask_viewer_context(batch, reader.viewer)
    batch.execute(check_revisions=True)
    return ReaderFacts(reader.viewer, reader.filter_context, filters()), context()


def _ask_viewer_context(batch: Batch, viewer: User | None) -> Future[ViewerContext]:
    """The viewer context, without another read: the revision is in the account, and the batch checks the caches."""
    if viewer is None:
        return ask_viewer_context(batch, None)
    return ask_viewer_context(batch, viewer.pk, revision=viewer.counts.graph_revision)


def _unfinished(page: Page[FeedItem], cursor: Cursor, position: Cursor) -> Page[FeedItem]:
    """A page that ends at a dropped post, with a cursor that does not reveal its id.

    The reader may not be allowed to see that post, so the cursor is rounded to the edge of the post's second, or to the
    last item. The next page reads the dropped candidates of that second again. The cursor contains a dropped id only if
    paging would otherwise never leave that second.
    """
    if position.min_id is not None and cursor.ascending:
        below = first_id_at(second_of(position.min_id)) - 1
        newer = max(below, page.newer or 0)
        newer = newer if newer > cursor.floor else position.min_id
        return Page(page.items, page.older, newer, ends_early=True)
    if position.max_id is None:  # only for the type checker, because after a round it is set
        return page
    above = first_id_at(second_of(position.max_id) + 1)
    older = min(above, page.items[-1].id) if page.items else above
    is_further = cursor.max_id is None or older < cursor.max_id
    older = older if is_further else position.max_id
    return Page(page.items, older, page.newer, ends_early=True)
