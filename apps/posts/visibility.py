"""Who may see a post: one table of the visibilities, for Python, SQL, deliveries and streams.

A visibility admits the author, and readers for whom all facts in one line of its rule (`RULES`) are true. Each fact is
defined twice, side by side: in Python, from rows that have just been read from PostgreSQL (`facts_about`), and in SQL.

Deletions, suspensions, blocks and staff (`Post.hidden_at`) hide posts of every visibility. The SQL here ignores them,
because it only selects candidates: pages show only those that `posts.queries` allows.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import groupby
from typing import Protocol

from django.db.models import BooleanField, Q
from django.db.models.expressions import RawSQL

from apps.graph.groups.queries import circle_audience, circle_names
from apps.graph.queries import ExactRelations, exact_relations, friend_ids
from apps.posts.models import OPEN, Mention, Visibility


class Judged(Protocol):
    """The attributes of a post that the rules read. Both the rows and the contents of posts have them."""

    @property
    def id(self) -> int: ...
    @property
    def author_id(self) -> int: ...
    @property
    def visibility(self) -> str: ...
    @property
    def circle_id(self) -> int | None: ...
    @property
    def is_hidden(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Standing:
    """A reader's relations to the authors, mentions and circles of given posts, as read from PostgreSQL.

    `circles` contains the names of the circles that the reader belongs to.
    """

    reader_id: int | None  # None for visitors
    relations: ExactRelations = field(default_factory=ExactRelations)
    mentioned_in: Collection[int] = ()
    circles: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about a reader and a post, in Python and in SQL.

    Except for circles, the SQL reads rows that belong to the post's author, which are on the same server as the post.
    """

    holds: Callable[[Judged, Standing], bool]
    # takes the table or alias of posts, and their author, as SQL; `%(reader)s` is the reader
    sql: Callable[[str, str], str]


# The ids of the circles that a reader owns or belongs to.
CIRCLES = """
    SELECT id FROM graph_circle WHERE owner_id = %(reader)s AND deleted_at IS NULL
    UNION ALL
    SELECT m.group_id FROM graph_circlemember m JOIN graph_circle c ON c.id = m.group_id
    WHERE m.member_id = %(reader)s AND c.deleted_at IS NULL"""

FOLLOWS = Fact(
    lambda post, reader: post.author_id in reader.relations.following,
    lambda _post, author: (
        f"EXISTS (SELECT FROM graph_follower WHERE owner_id = {author} AND follower_id = %(reader)s)"
    ),
)
FOLLOWED_BACK = Fact(
    lambda post, reader: post.author_id in reader.relations.followed_by,
    lambda _post, author: (
        f"EXISTS (SELECT FROM graph_followee WHERE owner_id = {author} AND followee_id = %(reader)s)"
    ),
)
MENTIONED = Fact(
    lambda post, reader: post.id in reader.mentioned_in,
    lambda post, author: (
        f"EXISTS (SELECT FROM posts_mention m WHERE m.author_id = {author} AND m.post_id = {post}.id"
        " AND m.user_id = %(reader)s)"
    ),
)
IN_CIRCLE = Fact(
    lambda post, reader: post.circle_id in reader.circles,
    lambda post, _author: f"{post}.circle_id IN ({CIRCLES})",
)


class Audience(Enum):
    """The readers on whose home pages a post appears, other than its author."""

    FOLLOWERS = auto()  # perhaps millions: deliveries read their list in chunks
    FRIENDS = auto()  # followers whom the author follows back
    MENTIONED = auto()  # followers whom the post mentions
    CIRCLE = auto()  # the circle's owner and members, who need not follow the author


@dataclass(frozen=True, slots=True)
class Rule:
    """A visibility. It admits readers for whom all facts in at least one of its lines are true."""

    admits: Sequence[Sequence[Fact]]
    audience: Audience


EVERYBODY: Sequence[Sequence[Fact]] = [[]]
# From the widest to the narrowest: by this order, `narrowest` limits a reply to the visibility of a restricted parent.
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(OPEN, Rule(EVERYBODY, Audience.FOLLOWERS)),
    Visibility.FOLLOWERS: Rule([[FOLLOWS], [MENTIONED]], Audience.FOLLOWERS),
    Visibility.FRIENDS: Rule([[FOLLOWS, FOLLOWED_BACK]], Audience.FRIENDS),
    Visibility.CIRCLE: Rule([[IN_CIRCLE]], Audience.CIRCLE),
    Visibility.MENTIONED: Rule([[MENTIONED]], Audience.MENTIONED),
}
if missing := set(Visibility) - RULES.keys():
    raise TypeError(f"RULES lacks {', '.join(sorted(missing))}")


def delivered_to(*audiences: Audience) -> tuple[str, ...]:
    """The visibilities whose posts are delivered to one of these audiences."""
    return tuple(name for name, rule in RULES.items() if rule.audience in audiences)


def depending_on(fact: Fact) -> tuple[str, ...]:
    """The visibilities that depend on a fact."""
    return tuple(name for name, rule in RULES.items() if any(fact in line for line in rule.admits))


ADDRESSED = delivered_to(Audience.FRIENDS, Audience.MENTIONED, Audience.CIRCLE)
# The restricted visibilities whose posts appear only on the home pages of the author's followers.
RESTRICTED_BY_FOLLOW = tuple(
    name
    for name, rule in RULES.items()
    if name not in OPEN and rule.audience is not Audience.CIRCLE
)


def narrowest(*visibilities: str) -> str:
    return max(visibilities, key=list(RULES).index)


# One post and one reader


def facts_about(reader_id: int | None, posts: Iterable[Judged]) -> Standing:
    """The facts that decide whether a reader may see these posts: up to three queries."""
    restricted = [post for post in posts if post.visibility not in OPEN]
    if reader_id is None or not restricted:
        return Standing(reader_id)
    mentioning = [post.id for post in restricted if post.visibility in depending_on(MENTIONED)]
    mentions = Mention.objects.filter(user=reader_id, post__in=mentioning)
    return Standing(
        reader_id,
        exact_relations(reader_id, {post.author_id for post in restricted}),
        set(mentions.values_list("post_id", flat=True)) if mentioning else (),
        circle_names(reader_id, {post.circle_id for post in restricted if post.circle_id}),
    )


def may_see(post: Judged, reader: Standing) -> bool:
    """Whether a reader may see a post, by its visibility and by blocks. Only its author may see a post that staff have
    hidden.

    Blocks count only if `reader` has the relations to the author; `facts_about` reads them only for restricted posts.
    """
    if post.author_id == reader.reader_id:
        return True
    if post.is_hidden or post.author_id in reader.relations.severed:
        return False
    lines = RULES[post.visibility].admits
    return any(all(fact.holds(post, reader) for fact in line) for line in lines)


# SQL for one reader


def has_visibility(visibilities: Iterable[str], post: str = "posts_post") -> str:
    names = ", ".join(f"'{name}'" for name in visibilities)
    return f"{post}.visibility IN ({names})"


def is_open(post: str = "posts_post") -> str:
    """The SQL condition for posts that everybody may see; it has no parameters."""
    return has_visibility(OPEN, post)


def where_visible(
    post: str = "posts_post",
    *,
    among: Iterable[str] = RULES,
    follows: str | None = None,
    author: str | None = None,
) -> str:
    """The SQL condition for posts with a visibility in `among` that `%(reader)s` may see, and for the reader's own.

    `post` is the table of posts or its alias. `follows` is SQL that tells whether the reader follows the author, if the
    query knows it already, such as `true` in a scan of the reader's followees. `author` is SQL for the author, if all
    posts have the same author.
    """
    by = author or f"{post}.author_id"

    def sql(fact: Fact) -> str:
        return follows if fact is FOLLOWS and follows is not None else fact.sql(post, by)

    clauses = [f"{post}.author_id = %(reader)s"]
    for lines, names in groupby(among, key=lambda name: RULES[name].admits):
        clause = has_visibility(names, post)
        if lines != EVERYBODY:
            either = " OR ".join(" AND ".join(map(sql, line)) for line in lines)
            clause += f" AND ({either})"
        clauses.append(clause)
    return f"({' OR '.join(clauses)})"


VISIBLE_TO_READER = where_visible()


def visible_to(reader_id: int | None, *, follows: bool, author_id: int) -> Q | RawSQL:
    """`where_visible` as a filter for posts of one author; `follows` tells whether the reader follows the author."""
    if reader_id is None:
        return Q(visibility__in=OPEN)
    condition = where_visible(follows="true" if follows else "false", author=str(author_id))
    values = [reader_id] * condition.count("%(reader)s")
    # Django's compiler takes values by position
    by_position = condition.replace("%(reader)s", "%s")
    return RawSQL(by_position, values, output_field=BooleanField())  # noqa: S611 -- constants


# One post and its readers


def addressees(post: Judged) -> set[int]:
    """The users to whose home pages an `ADDRESSED` post is delivered, except its author. ValueError for other posts.

    For a circle, blocks are not checked here: pages hide the post where a block applies.
    """
    match RULES[post.visibility].audience:
        case Audience.FOLLOWERS:
            raise ValueError(f"post {post.id} goes to all followers")
        case Audience.FRIENDS:
            return friend_ids(post.author_id)
        case Audience.MENTIONED:
            return readers_among(post, _mentioned_in(post)) - {post.author_id}
        case Audience.CIRCLE:
            return _circle_of(post) - {post.author_id}


def readers_among(post: Judged, people: Collection[int]) -> set[int]:
    """The users among `people` (of any number) on whose home pages a post belongs, including its author."""
    related = exact_relations(post.author_id, people)
    own = {post.author_id}.intersection(people)
    match RULES[post.visibility].audience:
        case Audience.FOLLOWERS:
            return own | related.followed_by - related.severed
        case Audience.FRIENDS:
            return own | related.friends - related.severed
        case Audience.MENTIONED:
            return own | related.followed_by & _mentioned_in(post) - related.severed
        case Audience.CIRCLE:
            return own | _circle_of(post).intersection(people) - related.severed


def _circle_of(post: Judged) -> set[int]:
    return set() if post.circle_id is None else circle_audience(post.circle_id)


def _mentioned_in(post: Judged) -> set[int]:
    return set(Mention.objects.filter(post=post.id).values_list("user_id", flat=True))
