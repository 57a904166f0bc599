"""Every reason a post may be on a page for, every rule against it, every fate of its delivery: explain and SQL agree.

The readers differ in what happened to their pages, the authors in all else: a post for each combination.
"""

import sys
from collections import Counter
from datetime import timedelta
from itertools import product

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.actions import update_settings
from apps.accounts.management.bulk import make_accounts
from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.audit.explain import explain
from apps.engagement.actions import mark_post_read
from apps.errors import NotFound
from apps.events.leases import State
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members
from apps.graph.management.bulk import Edge, begin_import, finish_import, load_edges
from apps.graph.models import Circle, CircleMember, Followee, Follower, ListMember, UserList
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.promotions.actions import start_campaign, state_trait
from apps.tags.actions import follow_tag
from apps.timeline.fanout.progress import discard_dead
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, Policy
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.sources.home_cache import HOME, INBOX
from tests.promotions.conftest import (
    make_campaign,
    make_segment,
    side_by_side,  # noqa: F401 -- a fixture
    sweep,
    trait,
)
from tests.support.factories import deliver, moderator, publish, repost

# One page has nearly all promoted posts of the site: they may stand beside each other here.
pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.usefixtures("side_by_side")]

# Why it would be there. The last three are no reasons: nobody follows the author.
FOLLOWED = ("author", "list", "circle", "friends", "followers", "repost", "hidden repost", "quote")
REASONS = (*FOLLOWED, "tag", "promoted", "quiet tag", "nothing")
RULES = ("none", "mute", "block", "filter", "language", "reply", "read", "delete")
FATES = ("delivered", "pulled", "waiting", "dead", "given up", "gone")
# What the reader's page was: there all the time, there and dropped and rebuilt, there and cut, made for the first
# time after the delivery; `late` had one and follows since after the publication.
READERS = ("online", "flushed", "cut", "dormant", "late")
VISIBILITY = {
    "circle": "circle",
    "friends": "friends",
    "followers": "followers",
    "quiet tag": "unlisted",
}

# What explain has to say, from the tables and from what the test knows: the readers (`viewer`, `page`), the ids
# in their windows now, and what they have read.
EXPECTED = """
WITH reader AS (SELECT * FROM unnest(%(viewers)s::bigint[], %(pages)s::text[]) AS r(viewer, page)),
cached AS (SELECT * FROM unnest(%(cached_viewers)s::bigint[], %(cached_posts)s::bigint[]) AS c(viewer, post)),
seen AS (SELECT * FROM unnest(%(read_viewers)s::bigint[], %(read_posts)s::bigint[]) AS s(viewer, post)),
fact AS (
    SELECT r.viewer, r.page, p.id AS post, p.kind, p.visibility, author.handle, j.mode, j.created_at AS started_at,
        p.deleted_at IS NOT NULL OR s.deleted_at IS NOT NULL AS deleted,
        EXISTS (SELECT 1 FROM graph_block b WHERE (b.owner_id, b.blocked_id) IN
            ((r.viewer, p.author_id), (p.author_id, r.viewer),
             (r.viewer, s.author_id), (s.author_id, r.viewer))) AS blocked,
        f.created_at AS followed_at, NOT f.shows_reposts AS unshared,
        cardinality(f.languages) > 0 AND NOT p.language = ANY(f.languages) AS foreign_language,
        EXISTS (SELECT 1 FROM graph_followee b
            WHERE b.owner_id = p.author_id AND b.followee_id = r.viewer) AS befriended,
        EXISTS (SELECT 1 FROM graph_circlemember m
            WHERE m.group_id = p.circle_id AND m.member_id = r.viewer) AS inside,
        EXISTS (SELECT 1 FROM posts_post t
            WHERE t.id = p.reply_to_id AND t.author_id NOT IN (p.author_id, r.viewer) AND NOT EXISTS (
                SELECT 1 FROM graph_followee n WHERE n.owner_id = r.viewer AND n.followee_id = t.author_id)
            ) AS to_stranger,
        EXISTS (SELECT 1 FROM graph_listmember m JOIN graph_userlist l ON l.id = m.group_id
            WHERE l.is_exclusive AND l.owner_id = r.viewer AND m.member_id = p.author_id) AS listed,
        EXISTS (SELECT 1 FROM graph_mute m
            WHERE m.owner_id = r.viewer AND m.muted_id IN (p.author_id, s.author_id)) AS muted,
        EXISTS (SELECT 1 FROM promotions_virtualfollow v JOIN promotions_campaign c ON c.account_id = v.account_id
            WHERE v.user_id = r.viewer AND v.account_id = p.author_id AND c.state = 'running') AS promoted,
        p.body LIKE '%%#rivers%%' AND EXISTS (SELECT 1 FROM tags_tagfollow t WHERE t.user_id = r.viewer) AS tagged,
        concat(p.body, s.body) LIKE '%%rhubarb%%' AS filtered,
        EXISTS (SELECT 1 FROM seen WHERE seen.viewer = r.viewer
            AND seen.post = CASE p.kind WHEN 'repost' THEN p.source_id ELSE p.id END) AS read,
        EXISTS (SELECT 1 FROM cached WHERE cached.viewer = r.viewer AND cached.post = p.id) AS cached,
        EXISTS (SELECT 1 FROM timeline_authorpolicy a WHERE a.author_id = p.author_id AND a.mode = 'pull')
            AND p.visibility IN ('public', 'unlisted') AS pulled,
        c.state, c.lost, c.finished_at
    FROM reader r CROSS JOIN posts_post p JOIN accounts_user author ON author.id = p.author_id
    LEFT JOIN posts_post s ON s.id = p.source_id
    LEFT JOIN graph_followee f ON f.owner_id = r.viewer AND f.followee_id = p.author_id
    LEFT JOIN timeline_fanoutjob j ON j.post_id = p.id
    LEFT JOIN timeline_fanoutchunk c ON c.job_id = p.id AND NOT c.is_virtual
    WHERE p.id = ANY(%(posts)s)
), judged AS (
    SELECT *, CASE
        WHEN deleted OR blocked THEN 'hidden'
        WHEN visibility = 'followers' AND followed_at IS NULL THEN 'hidden'
        WHEN visibility = 'friends' AND (followed_at IS NULL OR NOT befriended) THEN 'hidden'
        WHEN visibility = 'circle' AND NOT inside THEN 'hidden'
        WHEN muted THEN 'muted'
        WHEN kind = 'repost' AND unshared THEN 'unshared'
        WHEN listed THEN 'listed'
        WHEN kind <> 'repost' AND foreign_language THEN 'language'
        WHEN to_stranger THEN 'reply'
        WHEN followed_at IS NULL AND NOT inside AND NOT promoted AND NOT (tagged AND visibility = 'public')
            THEN CASE WHEN tagged THEN 'tag_not_public' ELSE 'not_followed' END
        WHEN read THEN 'read'
        WHEN filtered THEN 'filtered'
    END AS against, tagged AND followed_at IS NULL OR pulled OR cached OR page = 'cut' AS there
    FROM fact
)
SELECT viewer, page, post, handle, there AND against IS NULL AS on_home, finished_at, followed_at,
    CASE
    WHEN against IS NOT NULL THEN against
    WHEN NOT there THEN CASE WHEN state = 'pending' THEN 'waiting' WHEN state = 'dead' THEN 'failed'
        WHEN lost > 0 THEN 'given_up' ELSE 'lost' END
    WHEN visibility IN ('circle', 'friends') THEN visibility
    WHEN followed_at IS NULL AND tagged THEN 'tag'
    WHEN followed_at IS NULL THEN 'promoted'
    WHEN NOT cached THEN CASE WHEN pulled THEN 'pull' ELSE 'storage' END
    WHEN followed_at > started_at THEN 'backfill'
    WHEN state = 'done' AND lost = 0 THEN CASE page WHEN 'dormant' THEN 'rebuilt' ELSE 'push' END
    ELSE 'followed' END AS source
FROM judged
"""


@pytest.fixture
def readers(db):
    make_accounts(READERS)
    found = {user.handle: user for user in User.objects.filter(handle__in=READERS)}
    for reader in found.values():
        follow_tag(reader, "rivers")
        update_settings(reader, hides_read=True, hides_replies=True)
        keywords = [KeywordChange(keyword="rhubarb")]
        create_filter(reader, FilterChange("Pies", ["home"], act="hide", keywords=keywords))
        state_trait(reader, trait().slug)
    return found


@pytest.fixture
def authors(readers):
    """One for each reason, rule and fate, followed by all readers but `late` where that is the reason."""
    combinations = list(product(REASONS, RULES, FATES))
    handles = [f"a{number:04d}" for number in range(len(combinations))]
    make_accounts([*handles, "origin"])
    ids = dict(User.objects.values_list("handle", "pk"))
    found = {
        combination: ids[handle] for handle, combination in zip(handles, combinations, strict=True)
    }
    names = {pk: handle for handle, pk in ids.items()}
    followed = [pk for (reason, *_), pk in found.items() if reason in FOLLOWED]
    friends = [pk for (reason, *_), pk in found.items() if reason == "friends"]
    pairs = [(reader, names[pk]) for reader in READERS if reader != "late" for pk in followed]
    load("matrix", [*pairs, *((names[pk], reader) for reader in READERS for pk in friends)])
    for follows in (Followee, Follower):
        follows.objects.update(created_at=timezone.now() - timedelta(hours=1))
    return found


def load(digest, pairs):
    begin_import(digest)
    edges = [Edge(number, *pair) for number, pair in enumerate(pairs, start=1)]
    load_edges(digest, edges, after=0, upto=len(edges))
    finish_import(digest)


def groups(authors, readers):
    """The circles of authors, and the exclusive lists of readers."""
    members = [reader.pk for reader in readers.values() if reader.handle != "late"]
    circles = {}
    for (reason, *_), author in authors.items():
        if reason == "circle":
            circles[author] = Circle.objects.create(owner_id=author, name="Ours")
            CircleMember.objects.bulk_create(
                CircleMember(group=circles[author], member_id=member) for member in members
            )
    for reader in readers.values():
        own = UserList.objects.create(owner=reader, name="By themselves", is_exclusive=True)
        ListMember.objects.bulk_create(
            ListMember(group=own, member_id=author)
            for (reason, *_), author in authors.items()
            if reason == "list"
        )
        reader.counts.exclusive_lists = 1
        reader.counts.save(update_fields=["exclusive_lists"])
    return circles


def promote(authors, people):
    segment = make_segment("freshers", "first-year students", ("trait", trait()))
    for (reason, *_), author in authors.items():
        if reason == "promoted":
            start_campaign(make_campaign(people[author], segment).pk, by=moderator())
    sweep()


def posts_of(authors, people, circles):
    """The post of each combination."""
    origin = User.objects.get(handle="origin")
    sources = {word: publish(origin, word).pk for word in ("plain", "rhubarb")}
    found = {}
    for (reason, rule, fate), pk in authors.items():
        author, word = people[pk], "rhubarb" if rule == "filter" else "plain"
        if fate == "pulled":
            set_author_policy(author, Policy.PULL, by="a test")
        extra = {"reply_to_id": sources["plain"]} if rule == "reply" else {}
        if reason in {"repost", "hidden repost"}:
            # what is read is the source: one of its own
            source = publish(origin, "to be read").pk if rule == "read" else sources[word]
            source = (
                publish(origin, "an answer", reply_to_id=source).pk if rule == "reply" else source
            )
            found[reason, rule, fate] = repost(author, source)
            continue
        if reason == "circle":
            extra["circle_id"] = circles[pk].pk
        if reason == "quote":
            extra["quote_of_id"] = sources[word]
        tag = "#rivers" if reason in {"tag", "quiet tag"} else "hills"
        found[reason, rule, fate] = publish(
            author,
            f"{word} {tag}",
            language="fr",
            visibility=VISIBILITY.get(reason, "public"),
            **extra,
        )
    return found


def apply_rules(authors, people, posts, readers):
    """What readers have against authors and posts, and what authors have; (reader, post) pairs that were read."""
    read = []
    for (reason, rule, fate), pk in authors.items():
        post, author = posts[reason, rule, fate], people[pk]
        if rule == "delete":
            delete_post(post.pk, by=author)
        for reader in readers.values():
            apply_rule(rule, reader, author, follows=reason in FOLLOWED)
            if reason == "hidden repost" and rule not in {"block", "delete"}:
                follow_user(reader, author, reposts=False)
            if rule == "read":
                shown = post.source_id if post.kind == "repost" else post.pk
                mark_post_read(reader, shown)
                read.append((reader.pk, shown))
    return read


def apply_rule(rule, reader, author, *, follows):
    if rule == "mute":
        mute_user(reader, author)
    elif rule == "block":
        block_user(author, reader)
    elif rule == "language" and follows:
        follow_user(reader, author, languages=["en"])


def seal_fates(posts, readers):
    """What became of the deliveries; and what the readers' pages became."""
    ids = {fate: [post.pk for (*_, f), post in posts.items() if f == fate] for fate in FATES}
    chunks = FanoutChunk.objects.filter(is_virtual=False)
    later = timezone.now() + timedelta(hours=1)
    chunks.filter(job__in=ids["waiting"]).update(state=State.PENDING, due_at=later)
    chunks.filter(job__in=[*ids["dead"], *ids["given up"]]).update(state=State.DEAD)
    discard_dead(ids["given up"])
    for fate in ("waiting", "dead", "given up", "gone"):
        for windows in (HOME, INBOX):
            windows.remove(readers["online"].pk, ids[fate])
    for windows in (HOME, INBOX):
        windows.drop_many([readers["flushed"].pk, readers["cut"].pk])
        token = windows.begin(readers["cut"].pk) or ""
        newest = max(post.pk for post in posts.values()) + 1
        assert windows.swap(readers["cut"].pk, token, [newest], complete=False)
    for reader in readers.values():
        home_timeline(reader, Cursor(limit=1))


def cached(readers):
    return [
        (reader.pk, post_id)
        for reader in readers.values()
        for windows in (HOME, INBOX)
        for post_id in windows.ids(reader.pk)
    ]


def expected(readers, posts, read):
    (cached_viewers, cached_posts), (read_viewers, read_posts) = (
        zip(*pairs, strict=True) for pairs in (cached(readers), read)
    )
    values = {
        "viewers": [reader.pk for reader in readers.values()],
        "pages": list(readers),
        "posts": [post.pk for post in posts.values()],
        "cached_viewers": list(cached_viewers),
        "cached_posts": list(cached_posts),
        "read_viewers": list(read_viewers),
        "read_posts": list(read_posts),
    }
    return {(row["viewer"], row["post"]): row for row in sql_rows(EXPECTED, values)}


def sql_rows(statement, values):
    with connection.cursor() as sql:
        sql.execute(statement, values)
        names = [column.name for column in sql.description]
        return [dict(zip(names, row, strict=True)) for row in sql.fetchall()]


def whole_home(viewer):
    found, newest = set(), None
    while True:
        page = home_timeline(viewer, Cursor(max_id=newest, limit=40))
        found |= {item.id for item in page.items}
        newest = page.older
        if newest is None:
            return found


def told(viewer, post_id):
    try:
        return explain(viewer, post_id)
    except NotFound:
        return None


def fault(found, row, shown):
    """What explain says wrong; empty when it is right."""
    if row["source"] == "hidden":
        return "" if found is None else f"{found.reason}, not hidden"
    if found is None:
        return "hidden"
    if (found.on_home, found.reason) != (row["on_home"], row["source"]):
        return f"{found.reason}, on home: {found.on_home}"
    if found.on_home != (row["post"] in shown):
        return "another page"
    when = {"push": row["finished_at"], "backfill": row["followed_at"]}.get(row["source"])
    if when is not None and found.when != when:
        return f"at {found.when}"
    named = found.reason in {Reason.FILTERED, Reason.READ, Reason.REPLY, Reason.WAITING, Reason.FAILED, Reason.GIVEN_UP,
                             Reason.LOST, Reason.CIRCLE, Reason.TAG, Reason.TAG_NOT_PUBLIC}  # fmt: skip
    if not named and f"@{row['handle']}" not in found.text:
        return f"names nobody: {found.text}"
    return ""


def test_every_combination_of_reason_rule_and_delivery(authors, readers, capsys, request):
    """Each is asked about for one of the five readers; with `--matrix` for all of them."""
    one_in = 1 if request.config.getoption("--matrix") else len(READERS)
    people = users_by_id(authors.values())
    circles = groups(authors, readers)
    promote(authors, people)
    readers = {user.handle: user for user in users_by_id([r.pk for r in readers.values()]).values()}
    for handle in ("online", "flushed", "cut", "late"):
        home_timeline(readers[handle], Cursor())
    posts = posts_of(authors, people, circles)
    deliver()
    names = {pk: person.handle for pk, person in people.items()}
    load(
        "late", [("late", names[pk]) for (reason, *_), pk in authors.items() if reason in FOLLOWED]
    )
    now = timezone.now()  # PostgreSQL's is that of the test's transaction
    Followee.objects.filter(owner=readers["late"]).update(created_at=now)
    Follower.objects.filter(follower=readers["late"]).update(created_at=now)
    for author, circle in circles.items():
        add_members(Circle, people[author], circle.pk, [readers["late"].pk])
    deliver()
    read = apply_rules(authors, people, posts, readers)
    deliver()
    readers = {user.handle: user for user in users_by_id([r.pk for r in readers.values()]).values()}
    seal_fates(posts, readers)
    rows, wrong, asked = expected(readers, posts, read), [], 0
    sources = Counter(row["source"] for row in rows.values())
    for number, reader in enumerate(readers.values()):
        shown = whole_home(reader)
        for combination, post in list(posts.items())[number % one_in :: one_in]:
            row, asked = rows[reader.pk, post.pk], asked + 1
            if says := fault(told(reader, post.pk), row, shown):
                wrong.append((reader.handle, *combination, row["source"], says))
    with capsys.disabled():
        sys.stdout.write(
            f"\nexplain: {asked} of {len(rows)} combinations, {len(wrong)} wrong; {dict(sources)}\n"
        )
    assert len(rows) >= 2000
    assert asked >= len(rows) // one_in
    # "spaced" is said of a place on a page, not of a post
    assert set(sources) >= {source.value for source in Reason} - {"own", "spaced"} | {"hidden"}
    assert wrong[:20] == []
