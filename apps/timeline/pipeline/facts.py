"""What the rules of a page know of its reader, now or at a moment."""

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
    """What optional apps promote to a reader, asked in a batch, or else when it is needed."""
    asked = [ask(reader, batch) for ask in PROMOTERS]
    return lambda post: next(filter(None, (promotion_of(post) for promotion_of in asked)), None)


def nothing_promoted(_post: PostContent) -> None:
    """For streams and for pages that are read upwards."""


class ReaderFacts(NamedTuple):
    """What the rules know of a reader, None for a visitor: of the present, or of a moment in the past.

    `relations` are those to the authors of the posts and to those whom these answer. The rest matters on home only.
    """

    viewer: User | None = None
    context: FilterContext | None = None  # filters hide in some contexts only, and nothing in None
    filters: Filters = NO_FILTERS
    relations: Relations = Relations()
    listed: Collection[int] = ()  # members of lists whose posts home leaves out
    languages: Mapping[int, Collection[str]] = MappingProxyType({})  # chosen, by followed account
    tags: Collection[str] = ()  # followed
    promotion_of: PromotionOf = nothing_promoted
    followed_since: Mapping[int, float] = MappingProxyType({})  # Unix seconds, of recent follows
    hides_read: bool = False
    # Of a moment: the circles that the reader belonged to, and who was a friend. Of the present hydration knows it.
    circles: Collection[int] | None = None
    friends: Collection[int] | None = None

    def follows(self, author_id: int) -> bool:
        """Whether the reader follows an account; everybody follows themselves."""
        is_own = self.viewer is not None and author_id == self.viewer.pk
        return is_own or author_id in self.relations.following


def facts_now(
    viewer: User | None, context: FilterContext | None, relations: Relations
) -> ReaderFacts:
    """What the rules of most pages ask for, with the filters, for items that were hydrated with these relations."""
    return ReaderFacts(viewer, context, active_filters_of(viewer), relations)


# Completes the facts when the posts of a page are known.
CompleteFacts = Callable[[ReaderFacts, Sequence[FeedItem]], ReaderFacts]


def no_more(facts: ReaderFacts, _items: Sequence[FeedItem]) -> ReaderFacts:
    """For pages whose rules ask for nothing but relations."""
    return facts


def facts_of_home(
    viewer: User,
    *,
    promotion_of: PromotionOf = nothing_promoted,
    recent_follows: Future[Mapping[int, float]] = dict,
    hides_read: bool = False,
) -> CompleteFacts:
    """What the rules of home ask for now; a query each for tags, lists and languages, of those who have any.

    Lists and languages are asked about each author once, however many rounds a page takes.
    """
    counts = viewer.counts
    tags = followed_names(viewer) if counts.followed_tags else ()
    known, listed, languages = set[int](), set[int](), dict[int, frozenset[str]]()

    def add(facts: ReaderFacts, items: Sequence[FeedItem]) -> ReaderFacts:
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

    return add
