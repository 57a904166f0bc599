"""Facts about the reader of a page, now or at an earlier time, for the rules."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from apps.accounts.models import User
from apps.filters.matching import NO_FILTERS, Filters
from apps.filters.models import FilterContext
from apps.filters.queries import active_filters_of
from apps.graph.groups.queries import exclusive_member_ids
from apps.graph.queries import Relations, chosen_languages
from apps.posts.content.post import PostContent
from apps.tags.queries import followed_names
from apps.timeline.pipeline.hooks import PROMOTERS, PromotionOf
from apps.timeline.pipeline.items import FeedItem
from feedcache.read_through import Batch, Future


def promotions_for(reader: User, batch: Batch | None = None) -> PromotionOf:
    """The promotions that optional apps show to a reader, read in the batch or, without a batch, when needed."""
    asked = [ask(reader, batch) for ask in PROMOTERS]
    return lambda post: next(filter(None, (promotion_of(post) for promotion_of in asked)), None)


def nothing_promoted(_post: PostContent) -> None:
    """Promotes no post; used where no promoted posts are shown, as in streams and on ascending pages."""


class ReaderFacts(NamedTuple):
    """The facts about a reader that rules use, now or at an earlier time. `viewer` is None for a visitor.

    `relations` relate the reader to the authors of the posts and of their parents. The fields from `listed` on are for
    home.
    """

    viewer: User | None = None
    # each filter applies in some contexts; without a context, none does
    context: FilterContext | None = None
    filters: Filters = NO_FILTERS
    relations: Relations = Relations()
    listed: Collection[int] = ()  # members of exclusive lists
    # the languages chosen for followed accounts
    languages: Mapping[int, Collection[str]] = MappingProxyType({})
    tags: Collection[str] = ()  # followed tags
    promotion_of: PromotionOf = nothing_promoted
    followed_since: Mapping[int, float] = MappingProxyType({})  # Unix seconds, of recent follows
    hides_read: bool = False
    # The reader's circles and friends at an earlier time; None for a current page, where hydration has checked them.
    circles: Collection[int] | None = None
    friends: Collection[int] | None = None

    def follows(self, author_id: int) -> bool:
        """Whether the reader follows an account. Everybody counts as their own follower."""
        is_own = self.viewer is not None and author_id == self.viewer.pk
        return is_own or author_id in self.relations.following


def facts_now(
    viewer: User | None, context: FilterContext | None, relations: Relations
) -> ReaderFacts:
    """The facts for items hydrated outside `pipeline.page`: the viewer's filters, and relations to the authors."""
    return ReaderFacts(viewer, context, active_filters_of(viewer), relations)


# Adds the facts about the items of a page once the items are known.
CompleteFacts = Callable[[ReaderFacts, Sequence[FeedItem]], ReaderFacts]


def no_further_facts(facts: ReaderFacts, _items: Sequence[FeedItem]) -> ReaderFacts:
    """Add no facts; used for pages whose rules need only relations."""
    return facts


def facts_of_home(
    viewer: User,
    *,
    promotion_of: PromotionOf = nothing_promoted,
    recent_follows: Future[Mapping[int, float]] = dict,  # none by default
    hides_read: bool = False,
) -> CompleteFacts:
    """A function that adds the facts for home's rules. Queries tags, lists and languages only if the viewer has any.

    Lists and languages are queried only once per author, even if a page takes several rounds.
    """
    counts = viewer.counts
    tags = followed_names(viewer) if counts.followed_tags else ()
    known, listed, languages = set[int](), set[int](), dict[int, frozenset[str]]()

    def complete(facts: ReaderFacts, items: Sequence[FeedItem]) -> ReaderFacts:
        if new := {item.post.author_id for item in items} - known:
            known.update(new)
            listed.update(exclusive_member_ids(viewer, among=new) if counts.exclusive_lists else ())
            languages.update(chosen_languages(viewer, among=new) if counts.choosy_follows else {})
        return facts._replace(
            listed=listed,
            languages=languages,
            tags=tags,
            promotion_of=promotion_of,
            followed_since=recent_follows(),
            hides_read=hides_read,
        )

    return complete
