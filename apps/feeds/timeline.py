"""The timeline of a feed: the posts that match its rules, newest first. Their ids always come from PostgreSQL.

Each include rule scans a bounded range of an index: an author's posts, a tag's uses, the search index. One statement
merges these candidates. Up to two more statements apply the other rules: to the posts, and to the posts that they show
(a repost shows its source). The pipeline of all timelines removes posts that the viewer may not see.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import Invalid
from apps.feeds.models import Feed
from apps.feeds.queries import handles_in
from apps.filters.models import FilterContext
from apps.pagination import Cursor, Page
from apps.posts.queries import MAX_IDS
from apps.posts.visibility import VISIBLE_TO_READER
from apps.search.words import tsquery
from apps.sql import TimeLimit, TooSlow
from apps.timeline.pipeline import rulebook
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Reader, fill_page
from apps.timeline.sources.found import stored
from apps.timeline.sources.sql import ANSWERS_ANOTHER, Slice
from feedcache.ids import MAX_ID, authors_of

SCAN = MAX_IDS  # the maximum number of candidates per rule, and after the merge; `fill_page` never requests more

# Each of these selects post ids, with the position of the rule that the post matches. `{scan}` and `{first}` depend on
# the reader and the direction.
_PEOPLE = "SELECT post.id, array_position(%(people)s::bigint[], author.user_id::bigint) {scan}"
_TAGS = """
SELECT bearing.post_id, cardinality(%(people)s::bigint[]) + named.place
FROM unnest(%(tags)s::text[]) WITH ORDINALITY named(name, place)
JOIN tags_tag tag ON tag.name = named.name {scan}"""
# One subquery per phrase, so that the planner can choose the index of words for a rare phrase, else the index of ids.
_WORDS = """
(SELECT post_id, {place} FROM search_postentry
WHERE words @@ %(words_{place})s::tsquery AND (is_public OR author_id = %(reader)s)
    AND post_id < %(newest)s AND post_id > %(oldest)s {first})"""

# The posts that meet conditions, and the posts that they show: the source of a repost, or else the post itself.
_PASSING = """
SELECT post.id, CASE WHEN post.kind = 'repost' THEN post.source_id ELSE post.id END
FROM posts_post post WHERE post.id = ANY(%(ids)s) AND post.author_id = ANY(%(authors)s) AND {conditions}"""
# Conditions by the name of the rule: for posts themselves, for the posts that they show (_OF_SHOWN), or for both.
_OF_POST = {
    "without_replies": f"NOT {ANSWERS_ANOTHER}",
    "without_reposts": "post.kind <> 'repost'",
}
_OF_BOTH = {"exclude_people": "post.author_id <> ALL(%(exclude_people)s)"}
_OF_SHOWN = {
    "exclude_tags": """
        post.id NOT IN (SELECT u.post_id FROM tags_taguse u JOIN tags_tag t ON t.id = u.tag_id
                        WHERE u.post_id = ANY(%(ids)s) AND t.name = ANY(%(exclude_tags)s))""",
    # a post is left out until it has been indexed
    "exclude_words": """
        EXISTS (SELECT 1 FROM search_postentry e WHERE e.post_id = post.id AND e.author_id = post.author_id
                AND NOT e.words @@ %(exclude_words)s::tsquery)""",
    # `pt` also matches `pt-BR`; a post without a language matches none
    "languages": """
        ARRAY[lower(post.language), split_part(lower(post.language), '-', 1)] && %(languages)s::text[]""",
    "only_media": """
        EXISTS (SELECT 1 FROM posts_attachment a WHERE a.post_id = post.id AND a.author_id = post.author_id)""",
}
# Readers other than the owner see public posts only, and none by authors who block the owner or whom the owner blocks.
_IS_PUBLIC = "visibility = 'public'"
_NOT_BLOCKED = """
        post.author_id NOT IN (SELECT blocked_id FROM graph_block WHERE owner_id = %(owner)s
                               AND blocked_id = ANY(%(authors)s))
    AND NOT EXISTS (SELECT 1 FROM graph_block b WHERE b.owner_id = post.author_id AND b.blocked_id = %(owner)s)"""


def feed_timeline(feed: Feed, viewer: User | None, cursor: Cursor) -> Page[FeedItem]:
    """A page of a feed, saved or not. The owner sees which rules matched each post; other people see only public posts.

    Candidates are read at most `page.MAX_ROUNDS` times. Raises Invalid if this takes longer than `SEARCH_SECONDS`.
    If nearly all are excluded, the page is short, with a cursor to continue from.
    """
    candidates = _Candidates(feed, is_own=viewer is not None and viewer.pk == feed.owner_id)
    reader = Reader(viewer, FilterContext.PUBLIC)
    book = rulebook.only("caught", lambda item: item.id in candidates.places, rulebook.LIST_RULES)
    page = fill_page(stored(candidates.ids), reader, cursor=cursor, book=book)
    if not candidates.is_own or not page.items:
        return page
    rules = _labels(feed)
    return page.with_items(
        [
            item._replace(because=tuple(rules[place - 1] for place in candidates.places[item.id]))
            for item in page.items
        ]
    )


@dataclass(slots=True)
class _Candidates:
    """The candidates of a page. `places` maps the posts in the feed to the positions of the rules that they match."""

    feed: Feed
    is_own: bool
    places: dict[int, list[int]] = field(default_factory=dict)  # by post id
    time_limit: TimeLimit = field(default_factory=lambda: TimeLimit(settings.SEARCH_SECONDS))

    def ids(self, cursor: Cursor, count: int) -> list[int]:
        """Up to `count` matches. If SCAN candidates contain fewer, the last candidates that do not match are added: the
        page drops them, and the next read continues after them.
        """
        # none is left after the only person to include has deleted the account
        if not (self.feed.include_people or self.feed.include_tags or self.feed.include_words):
            return []
        try:
            found: dict[int, list[int]] = dict(
                self.time_limit.rows_of(*_statement(self.feed, cursor, is_own=self.is_own))
            )
            caught = self._caught(found)
        except TooSlow:
            message = _("This feed takes too long to load: its words appear in too many posts.")
            raise Invalid(message, code="too_slow") from None
        self.places |= {post_id: found[post_id] for post_id in caught}
        ids = [post_id for post_id in found if post_id in caught][:count]
        if len(ids) == count or len(found) < SCAN:
            return ids
        others = [post_id for post_id in found if post_id not in caught]
        return sorted([*ids, *others[len(ids) - count :]], reverse=not cursor.ascending)

    def _caught(self, ids: Collection[int]) -> Collection[int]:
        """The given posts, except those that a rule leaves out because of the post itself or the one that it shows."""
        of_both = _conditions(_OF_BOTH, self.feed)
        of_shown = _conditions(_OF_SHOWN, self.feed) + of_both
        if not self.is_own:
            of_both = [*of_both, _NOT_BLOCKED]
            of_shown += [f"post.{_IS_PUBLIC}", _NOT_BLOCKED]
        of_post = _conditions(_OF_POST, self.feed) + of_both
        if not of_post and not of_shown:
            return ids
        passing = self._passing(ids, of_post)
        if not of_shown:
            return passing
        shown = self._passing(set(passing.values()), of_shown)
        return [post_id for post_id, shown_id in passing.items() if shown_id in shown]

    def _passing(self, ids: Collection[int], conditions: list[str]) -> dict[int, int]:
        """The posts that meet the conditions, each with the id of the post that it shows."""
        sql = _PASSING.replace("{conditions}", " AND ".join(conditions) or "true")
        values = {"ids": list(ids), "authors": list(authors_of(ids)), **_values(self.feed)}
        return dict(self.time_limit.rows_of(sql, values)) if ids else {}


def _conditions(rules: Mapping[str, str], feed: Feed) -> list[str]:
    return [sql for name, sql in rules.items() if getattr(feed, name)]


def _labels(feed: Feed) -> list[str]:
    """The include rules in the order of their positions, as shown to people."""
    handles = handles_in([feed])
    people = [f"@{handles.get(pk, '')}" for pk in feed.include_people]
    tags = [f"#{name}" for name in feed.include_tags]
    return [*people, *tags, *(f"“{words}”" for words in feed.include_words)]


def _statement(feed: Feed, cursor: Cursor, *, is_own: bool) -> tuple[str, dict[str, Any]]:
    """The statement that reads candidates with the positions of the rules that they match, and its parameters."""
    page = Slice(cursor.ascending, SCAN)
    values = _values(feed) | {
        "reader": feed.owner_id if is_own else None,
        "newest": MAX_ID if cursor.max_id is None else cursor.max_id,
        "oldest": cursor.floor,
    }
    rules = []
    if feed.include_people:
        visible = VISIBLE_TO_READER if is_own else _IS_PUBLIC
        rules.append(_PEOPLE.replace("{scan}", page.scan("%(people)s::bigint[]", visible)))
    if feed.include_tags:
        rules.append(_TAGS.replace("{scan}", page.scan_tag("tag.id")))
    first = len(feed.include_people) + len(feed.include_tags) + 1
    for place, phrase in enumerate(feed.include_words, start=first):
        values[f"words_{place}"] = _query(phrase)
        words = _WORDS.replace("{place}", str(place))
        rules.append(words.replace("{first}", page.first("post_id")))
    found = "\nUNION ALL ".join(rules)
    sql = f"SELECT id, array_agg(place ORDER BY place) FROM ({found}) found(id, place) GROUP BY id {page.first()}"  # noqa: S608 -- constants
    return sql, values


def _values(feed: Feed) -> dict[str, Any]:
    return {
        "owner": feed.owner_id,
        "people": feed.include_people,
        "tags": feed.include_tags,
        "exclude_people": feed.exclude_people,
        "exclude_tags": feed.exclude_tags,
        "exclude_words": " | ".join(map(_query, feed.exclude_words)),
        "languages": feed.languages,
    }


def _query(phrase: str) -> str:
    return tsquery([phrase], begins=False)
