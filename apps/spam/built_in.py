"""The heuristics that come with the site."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from apps.graph.models import Followee, Follower
from apps.posts.models import Post
from apps.spam.heuristics import Candidate, Heuristic, Values, domain_of
from apps.spam.models import BlockedDomain
from apps.sql import rows_of
from feedcache.ids import answers_another, author_of, first_id_at, second_of

COPIES_WITHIN = timedelta(days=1)
TEXTS, LINKS = 4, 10  # from this number on, posts with the same text or link are suspicious
MAX_COPIES = 100  # further copies are not counted
STRANGERS = 5
LINKS_AFTER = timedelta(days=1)  # how long a new account's links are suspicious
CONTACTS, CONTACTS_WITHIN = 60, timedelta(hours=1)
MAX_CONTACTS = 5_000  # follows that are read for a batch of posts, and as many replies

# The high bits of a post's id are the second of its creation, so a difference of ids is a span of time.
_COPIES = f"""
SELECT mine.post_id, count(*), count(DISTINCT copies.author_id)
FROM spam_fingerprint mine CROSS JOIN LATERAL (
    SELECT other.author_id FROM spam_fingerprint other
    WHERE other.digest = mine.digest AND other.post_id <= mine.post_id AND other.post_id > mine.post_id - %(within)s
    ORDER BY other.post_id DESC LIMIT {MAX_COPIES}
) copies
WHERE mine.post_id = ANY(%(posts)s) AND mine.is_link = %(is_link)s
GROUP BY mine.post_id, mine.digest HAVING count(*) >= %(least)s
"""  # noqa: S608 -- a constant


def _copies(posts: Sequence[Candidate], *, is_link: bool, least: int) -> dict[int, Values]:
    """The posts of new accounts whose text (or a link, if `is_link`) is in at least `least` posts of new accounts.

    The post itself and those within `COPIES_WITHIN` before it are counted.
    """
    within = first_id_at(int(COPIES_WITHIN.total_seconds())) - first_id_at(0)
    values = {
        "posts": [post.id for post in posts],
        "within": within,
        "is_link": is_link,
        "least": least,
    }
    found: dict[int, Values] = {}
    for post_id, number, authors in rows_of(_COPIES, values):
        if number > found.get(post_id, {}).get("posts", 0):  # the link that is repeated most
            found[post_id] = {"posts": number, "authors": authors}
    return found


def _strangers(posts: Sequence[Candidate]) -> dict[int, Values]:
    mentioned = {user_id for post in posts for user_id in post.mentioned}
    rows = Follower.objects.filter(
        owner__in={post.author_id for post in posts}, follower__in=mentioned
    )
    followers = set(rows.values_list("owner_id", "follower_id")) if mentioned else set()
    found: dict[int, Values] = {}
    for post in posts:
        number = sum(
            user_id != post.author_id and (post.author_id, user_id) not in followers
            for user_id in post.mentioned
        )
        if number >= STRANGERS:
            found[post.id] = {"number": number}
    return found


def _blocked_links(posts: Sequence[Candidate]) -> dict[int, Values]:
    domains = {
        post.id: [d for link in post.links for d in _with_parents(domain_of(link))]
        for post in posts
    }
    named = {domain for found in domains.values() for domain in found}
    rows = BlockedDomain.objects.filter(domain__in=named)
    blocked = set(rows.values_list("domain", flat=True)) if named else set()
    hits = {post_id: [d for d in found if d in blocked] for post_id, found in domains.items()}
    return {post_id: {"domain": found[0]} for post_id, found in hits.items() if found}


def _with_parents(domain: str) -> Iterable[str]:
    """A domain and the domains of which it is a subdomain."""
    labels = domain.split(".")
    return (".".join(labels[start:]) for start in range(len(labels)))


def _first_links(posts: Sequence[Candidate]) -> dict[int, Values]:
    return {
        post.id: {"hours": max(int(post.account_age / timedelta(hours=1)), 0)}
        for post in posts
        if post.links and post.account_age < LINKS_AFTER
    }


def _contacts(posts: Sequence[Candidate]) -> dict[int, Values]:
    """The posts of new accounts that followed, or replied to, many people in the hour before."""
    new = [post for post in posts if post.is_by_newcomer]
    if not new:
        return {}
    authors = {post.author_id for post in new}
    first = min(post.created_at for post in new) - CONTACTS_WITHIN
    last = max(post.created_at for post in new)
    follows = Followee.objects.filter(
        owner__in=authors, created_at__gte=first, created_at__lte=last
    )
    replies = Post.objects.filter(
        author__in=authors,
        deleted_at=None,
        pk__gte=first_id_at(int(first.timestamp())),
        pk__lte=max(post.id for post in new),
        reply_to__isnull=False,
    )
    contacts: dict[int, list[tuple[float, int]]] = {author: [] for author in authors}
    for owner, followee, at in follows.order_by("-pk").values_list(
        "owner_id", "followee_id", "created_at"
    )[:MAX_CONTACTS]:
        contacts[owner].append((at.timestamp(), followee))
    for post_id, reply_to in replies.order_by("-pk").values_list("pk", "reply_to_id")[
        :MAX_CONTACTS
    ]:
        if answers_another(reply_to, author_of(post_id)):
            contacts[author_of(post_id)].append((second_of(post_id), author_of(reply_to)))
    found: dict[int, Values] = {}
    for post in new:
        end = post.created_at.timestamp()
        begin = end - CONTACTS_WITHIN.total_seconds()
        number = len({other for at, other in contacts[post.author_id] if begin <= at <= end})
        if number >= CONTACTS:
            found[post.id] = {"number": number}
    return found


same_text = Heuristic(
    "same_text",
    question=_("Is the same text in several posts of new accounts?"),
    points=60,
    reason=ngettext_lazy(
        "The same text was in %(posts)d posts of %(authors)d new account within a day.",
        "The same text was in %(posts)d posts of %(authors)d new accounts within a day.",
        "authors",
    ),
    find=partial(_copies, is_link=False, least=TEXTS),
)
same_link = Heuristic(
    "same_link",
    question=_("Is the same link in many posts of new accounts?"),
    points=40,
    reason=ngettext_lazy(
        "The same link was in %(posts)d posts of %(authors)d new account within a day.",
        "The same link was in %(posts)d posts of %(authors)d new accounts within a day.",
        "authors",
    ),
    find=partial(_copies, is_link=True, least=LINKS),
)
mentions = Heuristic(
    "mentions",
    question=_("Does it mention many people who do not follow the author?"),
    points=50,
    reason=_("It mentions %(number)d people who do not follow the author."),
    find=_strangers,
)
blocked_links = Heuristic(
    "blocked_links",
    question=_("Does it link to a blocked domain?"),
    points=100,
    reason=_("It links to %(domain)s, which is blocked."),
    find=_blocked_links,
)
first_links = Heuristic(
    "first_links",
    question=_("Is it a post with links of an account in its first day?"),
    points=30,
    reason=ngettext_lazy(
        "It has links, and the account was %(hours)d hour old.",
        "It has links, and the account was %(hours)d hours old.",
        "hours",
    ),
    find=_first_links,
)
contacts = Heuristic(
    "contacts",
    question=_("Has a new account followed or replied to many people within an hour?"),
    points=40,
    reason=_("The new account followed or replied to %(number)d people within an hour."),
    find=_contacts,
)
ALL = (same_text, same_link, mentions, blocked_links, first_links, contacts)
