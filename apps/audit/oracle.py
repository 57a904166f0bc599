"""The correct content of home, profile and public pages, computed from the tables: slow, independent of the read path.

It imports Django's database connection but nothing from the project (a contract of import-linter), so that it cannot
repeat a mistake in the read path. Home pages use the naive query of source 001, `WHERE author_uid IN (SELECT
following_uid ...) ORDER BY time DESC LIMIT n`, which sorts all matching posts and is too slow for production.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Self

import regex
from django.apps import apps
from django.db import connection, transaction

MAX_ID = 2**63 - 1
MAX_POSTS = 5_000  # posts read for one viewer
OPEN = frozenset({"public", "unlisted"})

Row = dict[str, Any]
Pairs = dict[int, set[int]]
Languages = dict[tuple[int, int], set[str]]  # by reader and author
Readers = Collection[int] | None  # None for everybody

_COLUMNS = """id, author_id, kind, visibility, circle_id, source_id, reply_to_id, language, edited_at, deleted_at,
              hidden_at"""

# Members of exclusive lists, who do not appear on the owner's home page.
_ELSEWHERE = """SELECT l.owner_id, m.member_id FROM graph_listmember m
                JOIN graph_userlist l ON l.id = m.group_id WHERE l.is_exclusive"""

# The languages that readers chose for followees.
_LANGUAGES = """SELECT owner_id, followee_id, lower(language)
                FROM graph_followee, unnest(languages) AS language WHERE true"""

# Readers who hide replies to people they do not follow.
_HIDES_REPLIES = """SELECT id FROM accounts_user
                    WHERE hides_replies AND (%(viewer)s::bigint IS NULL OR id = %(viewer)s)"""

# The public posts with a followed tag.
_TAGGED = """SELECT f.user_id, u.post_id FROM tags_tagfollow f
             JOIN tags_taguse u ON u.tag_id = f.tag_id WHERE u.is_public"""

# Words and posts that readers' filters hide on home pages.
_ACTIVE = """FROM filters_filter f JOIN filters_filter{what} k ON k.filter_id = f.id
             WHERE f.act = 'hide' AND f.places @> '["home"]' AND (f.expires_at IS NULL OR f.expires_at > now())"""
_HIDDEN_WORDS = "SELECT f.owner_id, k.keyword, k.whole_word " + _ACTIVE.format(what="keyword")
_HIDDEN_POSTS = "SELECT f.owner_id, k.post_id " + _ACTIVE.format(what="post")
# All texts of posts: content warnings, bodies, descriptions of attachments, and options of polls.
_TEXTS = """SELECT id, unnest(ARRAY[content_warning, body]) FROM posts_post WHERE id = ANY(%(posts)s)
            UNION ALL SELECT post_id, alt FROM posts_attachment WHERE post_id = ANY(%(posts)s)
            UNION ALL SELECT post_id, unnest(options) FROM posts_poll WHERE post_id = ANY(%(posts)s)"""
# A word character, except in scripts without spaces between words, and in Hangul, where endings join the words.
_IN_WORD = (
    r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]]"
)
_WHOLE = rf"(?:(?<!{_IN_WORD})|(?!{_IN_WORD})){{}}(?:(?!{_IN_WORD})|(?<!{_IN_WORD}))"

# The campaigns that may promote accounts to readers; `_promoted` applies them.
_CAMPAIGNS = """SELECT id, account_id FROM promotions_campaign
                WHERE state = 'running' AND is_live AND EXISTS (SELECT FROM promotions_promotionswitch WHERE is_on)
                AND now() >= starts_at AND now() < ends_at
                AND id IN (SELECT t.campaign_id FROM promotions_campaigncount t
                           WHERE t.impressions < promotions_campaign.budget_impressions)"""
_CAMPAIGN_SEGMENTS = """SELECT campaign_id, segment_id FROM promotions_campaign_segments
                        WHERE segment_id IN (SELECT id FROM promotions_segment WHERE is_active)"""
_SATURATED = """SELECT r.user_id, r.campaign_id
                FROM promotions_readerimpressions r JOIN promotions_campaign c ON c.id = r.campaign_id
                WHERE r.day = (now() AT TIME ZONE 'UTC')::date AND r.number >= c.frequency_cap"""

_NEWEST = """SELECT author_id, max(id) AS id,
             max(id) FILTER (WHERE created_at < now() - interval '1 minute') AS before FROM posts_post
             WHERE author_id = ANY(%(accounts)s) AND deleted_at IS NULL AND hidden_at IS NULL
             AND visibility IN ('public', 'unlisted')
             AND kind NOT IN ('repost', 'quote') AND reply_to_id IS NULL AND id < %(below)s GROUP BY author_id"""

_VIRTUAL = "UNION ALL SELECT account_id FROM promotions_virtualfollow WHERE user_id = %(viewer)s"
# The naive pull of source 001 between two ids, plus posts by any author that are for the viewer's circles, or are
# public with a followed tag.
_PULL = """
SELECT id FROM posts_post
WHERE author_id IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s UNION ALL SELECT %(viewer)s
                    {virtual})
  AND deleted_at IS NULL AND id > %(above)s AND id < %(below)s
UNION
SELECT id FROM posts_post
WHERE circle_id IN (SELECT id FROM graph_circle WHERE owner_id = %(viewer)s
                    UNION ALL SELECT group_id FROM graph_circlemember WHERE member_id = %(viewer)s)
  AND deleted_at IS NULL AND id > %(above)s AND id < %(below)s
UNION
SELECT id FROM posts_post
WHERE id IN (SELECT u.post_id FROM tags_taguse u JOIN tags_tagfollow f ON f.tag_id = u.tag_id
             WHERE f.user_id = %(viewer)s AND u.is_public AND u.post_id > %(above)s AND u.post_id < %(below)s)
  AND deleted_at IS NULL
ORDER BY id DESC LIMIT %(maximum)s
"""


class Oracle:
    """A snapshot of the database: all of it, or the part that one viewer's home page depends on."""

    def __init__(self) -> None:
        """Read whole tables, for tests, drills and `manage audit explain`."""
        with snapshot():
            self.posts = _by_id(rows("SELECT * FROM posts_post"))
            self.answered = self._answered()
            self.circles = _by_id(rows("SELECT * FROM graph_circle"))
            self.suspended = _ids("SELECT id FROM accounts_user WHERE suspended_at IS NOT NULL")
            self.limited = _ids("SELECT id FROM accounts_user WHERE limited_at IS NOT NULL")
            self.follows = pairs("SELECT owner_id, followee_id FROM graph_followee")
            self.hides_reposts_of = pairs(
                "SELECT owner_id, followee_id FROM graph_followee WHERE NOT shows_reposts"
            )
            self.languages = _languages(_LANGUAGES)
            self.blocks = pairs("SELECT owner_id, blocked_id FROM graph_block")
            self.mutes = pairs("SELECT owner_id, muted_id FROM graph_mute")
            self.elsewhere = pairs(_ELSEWHERE)
            self.tagged = pairs(_TAGGED)
            self.named = pairs("SELECT post_id, user_id FROM posts_mention")
            self.members = pairs("SELECT group_id, member_id FROM graph_circlemember")
            self.likes = pairs("SELECT post_id, user_id FROM engagement_like")
            self.bookmarks = pairs("SELECT post_id, user_id FROM engagement_bookmark")
            self.promoted = _promoted(None)
            self.newest_promoted = _newest(self.promoted, MAX_ID)
            self._read_filters()
        self.answers_above, self.answers_below = 0, MAX_ID

    @classmethod
    def of_viewer(
        cls,
        viewer_id: int,
        *,
        above: int = 0,
        below: int = MAX_ID,
        also: Collection[int] = (),
        maximum: int = MAX_POSTS,
    ) -> Self:
        """The part needed for a viewer's home between two ids (exclusive), with at most the newest `maximum` posts.

        `also` contains the ids of further posts to read. If the maximum is reached, the lower bound of the answers,
        `answers_above`, is one below the lowest id found. Likes and bookmarks are not read.
        """
        self = cls.__new__(cls)
        bounds = {"viewer": viewer_id, "above": above, "below": below, "maximum": maximum}
        with snapshot():
            found = [row["id"] for row in rows(pull(), bounds)]
            self.answers_above = found[-1] - 1 if len(found) == maximum else above
            self._read_posts({*found, *also}, viewer_id)
            self.newest_promoted = _newest(self.promoted, below)
        self.likes, self.bookmarks = defaultdict(set), defaultdict(set)
        self.answers_below = below
        return self

    def _read_posts(self, ids: Collection[int], viewer: int) -> None:
        by_ids = f"SELECT {_COLUMNS} FROM posts_post WHERE id = ANY(%(ids)s)"  # noqa: S608 -- a constant
        self.posts = _by_id(rows(by_ids, {"ids": list(ids)}))
        sources = [post["source_id"] for post in self.posts.values() if post["source_id"]]
        self.posts |= _by_id(rows(by_ids, {"ids": sources}))
        quoted = {post["source_id"] for post in self.posts.values()} - self.posts.keys() - {None}
        self.posts |= _by_id(rows(by_ids, {"ids": list(quoted)}))  # those quoted in reposted posts
        self.answered = self._answered()
        values = {
            "viewer": viewer,
            "posts": list(self.posts),
            "authors": [post["author_id"] for post in self.posts.values()]
            + list(self.answered.values()),
            "circles": list({post["circle_id"] for post in self.posts.values()} - {None}),
        }
        self.circles = _by_id(
            rows("SELECT * FROM graph_circle WHERE id = ANY(%(circles)s)", values)
        )
        self.suspended = _ids(
            "SELECT id FROM accounts_user WHERE id = ANY(%(authors)s) AND suspended_at IS NOT NULL",
            values,
        )
        self.limited = _ids(
            "SELECT id FROM accounts_user WHERE id = ANY(%(authors)s) AND limited_at IS NOT NULL",
            values,
        )
        mine = "owner_id = %(viewer)s AND {} = ANY(%(authors)s)"
        self.follows = pairs(
            f"SELECT owner_id, followee_id FROM graph_followee WHERE {mine.format('followee_id')}",  # noqa: S608 -- constants
            values,
        )
        self.follows |= pairs(
            "SELECT owner_id, followee_id FROM graph_followee WHERE owner_id = ANY(%(authors)s)"
            " AND followee_id = %(viewer)s AND owner_id <> %(viewer)s",
            values,
        )
        self.hides_reposts_of = pairs(
            f"""SELECT owner_id, followee_id FROM graph_followee
                WHERE NOT shows_reposts AND {mine.format("followee_id")}""",  # noqa: S608 -- constants
            values,
        )
        self.languages = _languages(f"{_LANGUAGES} AND {mine.format('followee_id')}", values)
        self.blocks = pairs(
            f"""SELECT owner_id, blocked_id FROM graph_block WHERE {mine.format("blocked_id")}
                OR (blocked_id = %(viewer)s AND owner_id = ANY(%(authors)s))""",  # noqa: S608 -- constants
            values,
        )
        self.mutes = pairs(
            f"SELECT owner_id, muted_id FROM graph_mute WHERE {mine.format('muted_id')}",  # noqa: S608 -- constants
            values,
        )
        self.elsewhere = pairs(f"{_ELSEWHERE} AND l.owner_id = %(viewer)s", values)
        mine = "AND f.user_id = %(viewer)s AND u.post_id = ANY(%(posts)s)"
        self.tagged = pairs(f"{_TAGGED} {mine}", values)
        self.named = pairs(
            "SELECT post_id, user_id FROM posts_mention WHERE user_id = %(viewer)s AND post_id = ANY(%(posts)s)",
            values,
        )
        self.members = pairs(
            """SELECT group_id, member_id FROM graph_circlemember
               WHERE member_id = %(viewer)s AND group_id = ANY(%(circles)s)""",
            values,
        )
        self.promoted = _promoted([viewer])
        self._read_filters(viewer)

    def _answered(self) -> dict[int, int]:
        """The author ids of the posts that are replied to, by the ids of these posts."""
        parents = [post["reply_to_id"] for post in self.posts.values() if post["reply_to_id"]]
        by_ids = "SELECT id, author_id FROM posts_post WHERE id = ANY(%(ids)s)"
        return {row["id"]: row["author_id"] for row in rows(by_ids, {"ids": parents})}

    def _read_filters(self, viewer: int | None = None) -> None:
        of_viewer = " AND (%(viewer)s::bigint IS NULL OR f.owner_id = %(viewer)s)"
        self.hides_replies = _ids(_HIDES_REPLIES, {"viewer": viewer})
        self.hidden_posts = pairs(_HIDDEN_POSTS + of_viewer, {"viewer": viewer})
        self.hidden_words = defaultdict(list)
        self.words: dict[int, list[tuple[str, bool]]] = defaultdict(list)  # the same words, as text
        for row in rows(_HIDDEN_WORDS + of_viewer, {"viewer": viewer}):
            self.words[row["owner_id"]].append((_fold(row["keyword"]), row["whole_word"]))
            word = regex.escape(_fold(row["keyword"]), literal_spaces=True)
            pattern = _WHOLE.replace("{}", word) if row["whole_word"] else word
            self.hidden_words[row["owner_id"]].append(regex.compile(pattern, regex.V1))
        self.texts: dict[int, str] = defaultdict(str)
        if self.hidden_words:
            for row in rows(_TEXTS, {"posts": list(self.posts)}):
                post_id, text = row.values()
                self.texts[post_id] += f"{_fold(text)}\uffff"

    def may_see(self, viewer: int, post_id: int) -> bool:
        """Whether a viewer may see a post, according to a second implementation of the site's rules."""
        post = self.posts.get(post_id)
        if post is None or post["deleted_at"] is not None or post["author_id"] in self.suspended:
            return False
        author = post["author_id"]
        if author in self.blocks[viewer] or viewer in self.blocks[author]:
            return False
        if post["hidden_at"] is not None and author != viewer:
            return False
        return post["visibility"] in OPEN or author == viewer or self._is_addressed(viewer, post)

    def _is_addressed(self, viewer: int, post: Row) -> bool:
        author = post["author_id"]
        if post["visibility"] == "circle":
            circle = self.circles[post["circle_id"]]
            inside = circle["owner_id"] == viewer or viewer in self.members[circle["id"]]
            return inside and circle["deleted_at"] is None
        if post["visibility"] == "friends":
            return author in self.follows[viewer] and viewer in self.follows[author]
        followed = post["visibility"] == "followers" and author in self.follows[viewer]
        return followed or viewer in self.named[post["id"]]

    def is_shown(self, viewer: int, post_id: int) -> bool:
        """Whether the viewer may see a post and, if it is a repost, its source too."""
        if not self.may_see(viewer, post_id):
            return False
        post = self.posts[post_id]
        return post["kind"] != "repost" or self.may_see(viewer, post["source_id"])

    def is_muted(self, viewer: int, post: Row) -> bool:
        """Whether the viewer mutes the author, or the author of a repost's source."""
        authors = {post["author_id"]}
        if post["kind"] == "repost":
            authors.add(self.posts[post["source_id"]]["author_id"])
        return bool(authors & self.mutes[viewer])

    def is_limited(self, viewer: int, post: Row) -> bool:
        """Whether staff limited the author or the reposted author. The viewer and their followees do not count."""
        authors = {post["author_id"]}
        if post["kind"] == "repost":
            authors.add(self.posts[post["source_id"]]["author_id"])
        return bool((authors & self.limited) - self.follows[viewer] - {viewer})

    def is_filtered(self, viewer: int, post: Row) -> bool:
        """Whether the viewer's filters hide a post, or a repost's source, by id or text. Own posts are never hidden."""
        post = self.posts[self.shown_id(post["id"])]
        if post["author_id"] == viewer:
            return False
        text = self.text_for(viewer, post)
        found = any(pattern.search(text) for pattern in self.hidden_words[viewer])
        return found or post["id"] in self.hidden_posts[viewer]

    def is_hidden_reply(self, viewer: int, post: Row) -> bool:
        """Whether the post is a reply to somebody the viewer does not follow, and the viewer hides such replies.

        False for the viewer's own posts, for replies to the viewer, and for replies of authors to themselves.
        """
        if viewer not in self.hides_replies or post["reply_to_id"] is None:
            return False
        answered = self.answered[post["reply_to_id"]]
        known = {viewer, post["author_id"]} | self.follows[viewer]
        return post["author_id"] != viewer and answered not in known

    def shown_id(self, post_id: int) -> int:
        """The id of the post that is displayed: the source of a repost, otherwise the post itself."""
        post = self.posts[post_id]
        return int(post["source_id"]) if post["kind"] == "repost" else post_id

    def text_for(self, viewer: int, post: Row) -> str:
        """The text that the viewer's filters search: the post's, and the quoted post's if the viewer may see it."""
        text, quoted = self.texts[post["id"]], post["source_id"]
        may_see = quoted is not None and self.may_see(viewer, quoted)
        return text + self.texts[quoted] if may_see else text

    def is_home(
        self, viewer: int, post_id: int, *, tags: bool = True, promoted: bool = True
    ) -> bool:
        """Whether a post belongs on a home timeline, apart from filters and `hides_replies`.

        `tags` and `promoted` include the posts that belong only because of a followed tag or a promotion.
        """
        if not self.is_shown(viewer, post_id):
            return False
        post = self.posts[post_id]
        shared = post["kind"] == "repost" and post["author_id"] in self.hides_reposts_of[viewer]
        if (
            shared
            or post["author_id"] in self.elsewhere[viewer]
            or self.is_unwanted_language(viewer, post)
        ):
            return False
        known = post["author_id"] == viewer or post["author_id"] in self.follows[viewer]
        known = known or (tags and post_id in self.tagged[viewer])
        known = known or (promoted and self.is_promoted(viewer, post))
        belongs = known or post["visibility"] == "circle"
        return belongs and not self.is_muted(viewer, post) and not self.is_limited(viewer, post)

    def is_promoted(self, viewer: int, post: Row) -> bool:
        """Whether a post is the newest (see `_newest`) of an account that is promoted to the viewer now.

        A page need not show it, because at most one post in eight is promoted.
        """
        author = post["author_id"]
        return author in self.promoted[viewer] and post["id"] in self.newest_promoted[author]

    def is_unwanted_language(self, viewer: int, post: Row) -> bool:
        """Whether the viewer chose only other languages for the author (`pt` includes `pt-BR`); False for reposts."""
        chosen, language = self.languages[viewer, post["author_id"]], post["language"].lower()
        if not chosen or not language or post["kind"] == "repost":
            return False
        return chosen.isdisjoint({language, language.split("-")[0]})

    def home(self, viewer: int, *, promoted: bool = True) -> list[int]:
        """All ids of a home timeline between `answers_above` and `answers_below`, newest first; includes read posts."""
        delivered = self.delivered(viewer, tags=True, promoted=promoted)
        return [
            post_id
            for post_id in delivered
            if not self.is_filtered(viewer, self.posts[post_id])
            and not self.is_hidden_reply(viewer, self.posts[post_id])
        ]

    def delivered(self, viewer: int, *, tags: bool = False, promoted: bool = True) -> list[int]:
        """`home` plus posts that filters or `hides_replies` hide. Posts that only a tag adds are included if `tags`."""
        return [
            post_id
            for post_id in sorted(self.posts, reverse=True)
            if self.answers_above < post_id < self.answers_below
            and self.is_home(viewer, post_id, tags=tags, promoted=promoted)
        ]

    def profile(self, author: int, viewer: int, *, replies: bool) -> list[int]:
        """All ids of a profile as a viewer without filters sees it, newest first."""

        def belongs(post: Row) -> bool:
            if post["author_id"] != author:
                return False
            answered = self.posts.get(post["reply_to_id"])  # `posts` includes deleted ones
            return replies or answered is None or answered["author_id"] == author

        return self._newest_first(viewer, belongs)

    def public(self, viewer: int) -> list[int]:
        """All ids of the public timeline as a viewer without filters sees it, newest first."""

        def belongs(post: Row) -> bool:
            is_public = post["visibility"] == "public" and post["kind"] != "repost"
            kept_away = self.is_muted(viewer, post) or self.is_limited(viewer, post)
            return is_public and not kept_away

        return self._newest_first(viewer, belongs)

    def counts(self, post_id: int) -> tuple[int, int, int]:
        """(replies, reposts, likes), counted from their rows; only open posts count."""
        counted = [post for post in self.posts.values() if _is_counted(post)]
        replies = sum(post["reply_to_id"] == post_id for post in counted)
        reposts = sum(post["kind"] == "repost" and post["source_id"] == post_id for post in counted)
        return replies, reposts, len(self.likes[post_id])

    def user_counts(self, user: int) -> tuple[int, int, int]:
        """(followers, following, posts); only open posts count."""
        posts = Counter(post["author_id"] for post in self.posts.values() if _is_counted(post))
        followers = sum(user in others for others in self.follows.values())
        return followers, len(self.follows[user]), posts[user]

    def _newest_first(self, viewer: int, belongs: Callable[[Row], bool]) -> list[int]:
        return [
            post_id
            for post_id in sorted(self.posts, reverse=True)
            if self.is_shown(viewer, post_id) and belongs(self.posts[post_id])
        ]


@contextmanager
def snapshot() -> Iterator[None]:
    """Run all reads in the block in one read-only snapshot; inside a transaction, its isolation level applies."""
    nested = connection.in_atomic_block
    with transaction.atomic():
        if not nested:
            with connection.cursor() as sql:
                sql.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def rows(statement: str, values: dict[str, Any] | None = None) -> list[Row]:
    """The rows of a statement as dictionaries."""
    with connection.cursor() as sql:
        sql.execute(statement, values or {})
        names = [column.name for column in sql.description or ()]
        return [dict(zip(names, row, strict=True)) for row in sql.fetchall()]


def pairs(statement: str, values: dict[str, Any] | None = None) -> Pairs:
    """For a statement with two columns, the set of second values for each first value."""
    by_first: Pairs = defaultdict(set)
    for row in rows(statement, values):
        first, second = row.values()
        by_first[first].add(second)
    return by_first


def pull() -> str:
    """The SQL statement for a viewer's home between two ids."""
    return _PULL.format(virtual=_VIRTUAL if has_promotions() else "")


def has_promotions() -> bool:
    """Whether the promotions app is installed. Without it nothing is promoted, whatever its tables contain."""
    return apps.is_installed("apps.promotions")


def _promoted(readers: Readers) -> Pairs:
    """The accounts promoted to readers now, by running campaigns with a segment that contains the reader.

    Contains only accounts that the reader follows virtually. Readers who have opted out, or who have seen the campaign
    often enough today, are left out.
    """
    if not has_promotions():
        return defaultdict(set)
    values = {"readers": None if readers is None else list(readers)}
    of_readers = "(%(readers)s::bigint[] IS NULL OR user_id = ANY(%(readers)s))"
    virtual = pairs(
        f"SELECT user_id, account_id FROM promotions_virtualfollow WHERE {of_readers}",  # noqa: S608 -- a constant
        values,
    )
    if not virtual:
        return defaultdict(set)
    members = pairs(
        f"SELECT user_id, segment_id FROM promotions_segmentmembership WHERE {of_readers}",  # noqa: S608 -- a constant
        values,
    )
    refusing = {row["user_id"] for row in rows("SELECT user_id FROM promotions_optout")}
    saturated, segments = pairs(_SATURATED), pairs(_CAMPAIGN_SEGMENTS)
    found: Pairs = defaultdict(set)
    for campaign in rows(_CAMPAIGNS):
        for reader in virtual.keys() - refusing:
            follows = campaign["account_id"] in virtual[reader]
            is_member = not members[reader].isdisjoint(segments[campaign["id"]])
            if follows and is_member and campaign["id"] not in saturated[reader]:
                found[reader].add(campaign["account_id"])
    return found


def _newest(promoted: Pairs, below: int) -> Pairs:
    """For each promoted account, the newest open post below an id, without reposts, quotes and replies.

    Pages may not yet contain posts from the last minute, so the newest post older than a minute is included too.
    """
    found: Pairs = defaultdict(set)
    if accounts := sorted(set().union(*promoted.values())):
        for row in rows(_NEWEST, {"accounts": accounts, "below": below}):
            found[row["author_id"]] = {row["id"], row["before"]}
    return found


def _languages(statement: str, values: dict[str, Any] | None = None) -> Languages:
    languages: Languages = defaultdict(set)
    for row in rows(statement, values):
        reader, author, language = row.values()
        languages[reader, author].add(language)
    return languages


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return str(regex.sub(r"\s+", " ", folded)).strip()


def _is_counted(post: Row) -> bool:
    return post["deleted_at"] is None and post["visibility"] in OPEN


def _by_id(found: list[Row]) -> dict[int, Row]:
    return {row["id"]: row for row in found}


def _ids(statement: str, values: dict[str, Any] | None = None) -> set[int]:
    return {row["id"] for row in rows(statement, values)}
