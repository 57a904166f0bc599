"""The timeline of a feed: the posts that its rules catch, newest first, always read from PostgreSQL.

Each include rule scans a bounded range of an index: an author's posts, a tag's uses, the search index. The same
statement merges the candidates and checks the exclude rules; the pipeline of all timelines decides who may see them.
"""

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
from feedcache.ids import MAX_AUTHOR_ID, MAX_ID, SEQUENCE_BITS

SCAN = MAX_IDS  # most candidates in one statement, per rule and after the merge; `fill_page` never asks for more

_RANGE = "< %(newest)s AND {id} > %(oldest)s ORDER BY {id} {{order}} LIMIT {scan}"
_BY_POST, _BY_USE = (_RANGE.format(id=name, scan=SCAN) for name in ("id", "post_id"))
_PEOPLE = f"""
SELECT post.id, author.place
FROM unnest(%(people)s::bigint[]) WITH ORDINALITY author(id, place)
CROSS JOIN LATERAL (
    SELECT id FROM posts_post
    WHERE author_id = author.id AND deleted_at IS NULL AND {{visible}} AND id {_BY_POST}
) post"""  # noqa: S608 -- constants
_TAGS = f"""
SELECT bearing.post_id, cardinality(%(people)s::bigint[]) + named.place
FROM unnest(%(tags)s::text[]) WITH ORDINALITY named(name, place)
JOIN tags_tag tag ON tag.name = named.name
CROSS JOIN LATERAL (
    SELECT post_id FROM tags_taguse WHERE tag_id = tag.id AND is_public AND post_id {_BY_USE}
) bearing"""  # noqa: S608 -- constants
# One subquery per phrase, so that the planner can choose for each: the index of words if it is rare, else that of ids.
_WORDS = f"""
(SELECT post_id, {{place}} FROM search_postentry
WHERE words @@ %({{name}})s::tsquery AND (is_public OR author_id = %(reader)s) AND post_id {_BY_USE})"""  # noqa: S608 -- constants

# For a repost, both the shared post and the repost are checked. On Citus, a lateral look-up by key asks one server.
_CANDIDATES = f"""
WITH found(id, place) AS ({{rules}}), candidate AS (
    SELECT id, array_agg(place ORDER BY place) AS places FROM found GROUP BY id ORDER BY id {{order}} LIMIT {SCAN}
)
SELECT candidate.id, candidate.places, {{conditions}}
FROM candidate
CROSS JOIN LATERAL (SELECT * FROM posts_post WHERE id = candidate.id LIMIT 1) post
LEFT JOIN LATERAL (
    SELECT * FROM posts_post WHERE id = CASE WHEN post.kind = 'repost' THEN post.source_id ELSE post.id END LIMIT 1
) shown ON true
ORDER BY candidate.id {{order}}"""  # noqa: S608 -- constants
_NOT_EXCLUDED = {
    "exclude_people": """
        NOT (post.author_id = ANY(%(exclude_people)s) OR shown.author_id = ANY(%(exclude_people)s))""",
    "exclude_tags": """
        NOT EXISTS (SELECT 1 FROM tags_taguse u JOIN tags_tag t ON t.id = u.tag_id
                    WHERE u.post_id = shown.id AND t.name = ANY(%(exclude_tags)s))""",
    # a post that is not indexed yet is left out until it is
    "exclude_words": """
        EXISTS (SELECT 1 FROM search_postentry e
                WHERE e.post_id = shown.id AND NOT e.words @@ %(exclude_words)s::tsquery)""",
    # `pt` also matches `pt-BR`; a post without a language matches none
    "languages": """
        ARRAY[lower(shown.language), split_part(lower(shown.language), '-', 1)] && %(languages)s::text[]""",
    "only_media": "EXISTS (SELECT 1 FROM posts_attachment a WHERE a.post_id = shown.id)",
    # the rule of `feedcache.ids.answers_another`
    "without_replies": f"""
        (post.reply_to_id IS NULL OR post.reply_to_id >> {SEQUENCE_BITS} & {MAX_AUTHOR_ID} = post.author_id)""",
    "without_reposts": "post.kind <> 'repost'",
}
# Readers other than the owner see public posts only, and none by authors who block the owner or are blocked by them.
_PUBLIC = "visibility = 'public'"
_FOR_OTHERS = """shown.visibility = 'public' AND NOT EXISTS (
    SELECT 1 FROM graph_block b
    WHERE b.owner_id = %(owner)s AND b.blocked_id IN (post.author_id, shown.author_id)
       OR b.blocked_id = %(owner)s AND b.owner_id IN (post.author_id, shown.author_id))"""


def feed_timeline(feed: Feed, viewer: User | None, cursor: Cursor) -> Page[FeedItem]:
    """A page of a feed, saved or not. The owner sees which rules matched each post; others see public posts only.

    At most `page.MAX_ROUNDS` statements read candidates, within `SEARCH_SECONDS` in all; Invalid if they take longer.
    If nearly all candidates are excluded, the page ends early, with a cursor to continue from.
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
    """The source of a page. `places` maps the posts that the feed catches to the places of the rules that match."""

    feed: Feed
    is_own: bool
    places: dict[int, list[int]] = field(default_factory=dict)  # by post id
    time_limit: TimeLimit = field(default_factory=lambda: TimeLimit(settings.SEARCH_SECONDS))

    def ids(self, cursor: Cursor, count: int) -> list[int]:
        """Up to `count` candidates. If too few are caught, uncaught ones fill the rest to mark where the scan ended."""
        try:
            rows = self.time_limit.rows_of(*_statement(self.feed, cursor, is_own=self.is_own))
        except TooSlow:
            message = _("This feed takes too long: its words are in too many posts.")
            raise Invalid(message, code="too_slow") from None
        caught = {post_id: places for post_id, places, belongs in rows if belongs}
        self.places |= caught
        ids = list(caught)[:count]
        if len(ids) == count or len(rows) < SCAN:
            return ids
        others = [post_id for post_id, _places, _belongs in rows if post_id not in caught]
        return sorted([*ids, *others[len(ids) - count :]], reverse=not cursor.ascending)


def _labels(feed: Feed) -> list[str]:
    """The include rules in the order of their places, as shown to people."""
    handles = handles_in([feed])
    people = [f"@{handles.get(pk, '')}" for pk in feed.include_people]
    tags = [f"#{name}" for name in feed.include_tags]
    return [*people, *tags, *(f"“{words}”" for words in feed.include_words)]


def _statement(feed: Feed, cursor: Cursor, *, is_own: bool) -> tuple[str, dict[str, Any]]:
    values: dict[str, Any] = {
        "owner": feed.owner_id,
        "reader": feed.owner_id if is_own else None,
        "newest": MAX_ID if cursor.max_id is None else cursor.max_id,
        "oldest": cursor.floor,
        "people": feed.include_people,
        "tags": feed.include_tags,
        "exclude_people": feed.exclude_people,
        "exclude_tags": feed.exclude_tags,
        "exclude_words": " | ".join(map(_query, feed.exclude_words)),
        "languages": feed.languages,
    }
    first = len(feed.include_people) + len(feed.include_tags) + 1
    words = []
    for place, phrase in enumerate(feed.include_words, start=first):
        values[f"words_{place}"] = _query(phrase)
        words.append(_WORDS.replace("{place}", str(place)).replace("{name}", f"words_{place}"))
    rules = "\nUNION ALL".join(
        [
            *([_PEOPLE] if feed.include_people else []),
            *([_TAGS] if feed.include_tags else []),
            *words,
        ]
    )
    conditions = [sql for name, sql in _NOT_EXCLUDED.items() if getattr(feed, name)]
    conditions += [] if is_own else [_FOR_OTHERS]
    sql = (
        _CANDIDATES.replace("{rules}", rules)
        .replace("{visible}", VISIBLE_TO_READER if is_own else _PUBLIC)
        .replace("{conditions}", " AND ".join(conditions) or "true")
        .replace("{order}", "ASC" if cursor.ascending else "DESC")
    )
    return sql, values


def _query(phrase: str) -> str:
    return tsquery([phrase], begins=False)
