"""Home as of a moment, after random histories: what a world of plain sets says that was written down beside them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.utils import timezone

from apps.accounts.actions import update_settings
from apps.errors import BadRequest, DomainError
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    purge_past_relations,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.groups.actions import add_members, create_group, leave_circle
from apps.graph.models import Circle, Followee, PastRelation
from apps.pagination import Cursor
from apps.posts import store
from apps.posts.actions.publish import delete_post
from apps.tags.actions import follow_tag, purge_past_follows, unfollow_tag
from apps.tags.models import PastTagFollow
from apps.timeline.history.as_of import history_begins, home_as_of
from tests.support.factories import make_user, publish, repost, seconds_ago
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db

PEOPLE = 7
TAGS = ("rivers", "trees")
STAMPED = (
    ("graph_followee", "created_at"),
    ("graph_block", "created_at"),
    ("graph_mute", "created_at"),
    ("graph_circlemember", "created_at"),
    ("graph_pastrelation", "ended_at"),
    ("tags_tagfollow", "created_at"),
    ("tags_pasttagfollow", "ended_at"),
    ("posts_post", "deleted_at"),
)


@dataclass
class World:
    """Who follows, mutes, blocks, and what was said."""

    follows: dict[tuple[int, int], tuple[bool, tuple[str, ...]]] = field(default_factory=dict)
    mutes: set[tuple[int, int]] = field(default_factory=set)
    blocks: set[tuple[int, int]] = field(default_factory=set)
    tags: set[tuple[int, str]] = field(default_factory=set)
    members: set[tuple[int, int]] = field(default_factory=set)  # of the circle of the first
    posts: dict[int, dict[str, Any]] = field(default_factory=dict)
    deleted: dict[int, int] = field(default_factory=dict)
    hiding: frozenset[int] = frozenset()  # who hide replies to strangers, today and always

    def apply(self, second, verb, *args):
        getattr(self, f"do_{verb}")(second, *args)

    def do_follow(self, _second, one, other, terms):
        self.follows[one, other] = terms

    def do_unfollow(self, _second, one, other):
        self.follows.pop((one, other), None)

    def do_mute(self, _second, one, other):
        self.mutes.add((one, other))

    def do_unmute(self, _second, one, other):
        self.mutes.discard((one, other))

    def do_block(self, _second, one, other):
        self.blocks.add((one, other))
        for pair in ((one, other), (other, one)):
            self.follows.pop(pair, None)
            self.members.discard(pair)

    def do_unblock(self, _second, one, other):
        self.blocks.discard((one, other))

    def do_tag(self, _second, one, tag):
        self.tags.add((one, tag))

    def do_untag(self, _second, one, tag):
        self.tags.discard((one, tag))

    def do_join(self, _second, owner, member):
        self.members.add((owner, member))

    def do_leave(self, _second, owner, member):
        self.members.discard((owner, member))

    def do_publish(self, _second, post_id, post):
        self.posts[post_id] = post

    def do_delete(self, second, post_id):
        self.deleted[post_id] = second

    def severed(self, one, other):
        return bool({(one, other), (other, one)} & self.blocks)

    def sees(self, reader, post_id):
        post = self.posts[post_id]
        author, kind = post["author"], post["visibility"]
        if post_id in self.deleted or self.severed(reader, author):
            return False
        if post["source"] is not None and not self.sees(reader, post["source"]):
            return False
        if author == reader or kind in {"public", "unlisted"}:
            return True
        if kind == "circle":
            return (author, reader) in self.members
        if kind == "friends":
            return {(reader, author), (author, reader)} <= self.follows.keys()
        return reader in post["named"] or (kind == "followers" and (reader, author) in self.follows)

    def hides_reply(self, reader, post):
        answered = post["answers"]
        if reader not in self.hiding or answered is None or post["author"] == reader:
            return False
        return answered not in {post["author"], reader} and (reader, answered) not in self.follows

    def belongs(self, reader, post_id):
        """On the home page of these relations, whoever may see it."""
        post = self.posts[post_id]
        authors = {post["author"]}
        if post["source"] is not None:
            authors.add(self.posts[post["source"]]["author"])
        hidden = any((reader, one) in self.mutes or self.severed(reader, one) for one in authors)
        if hidden or self.hides_reply(reader, post):
            return False
        author, kind = post["author"], post["visibility"]
        if author == reader:
            return True
        shows, languages = self.follows.get((reader, author), (True, ()))
        if post["source"] is not None and not shows:
            return False
        if languages and post["source"] is None and post["language"] not in languages:
            return False
        if kind == "circle":
            return (author, reader) in self.members
        if kind == "friends" and (author, reader) not in self.follows:
            return False
        tagged = kind == "public" and any((reader, tag) in self.tags for tag in post["tags"])
        return (reader, author) in self.follows or tagged


class History:
    """Does things through the actions of the site, one a second of the past, and writes them down."""

    def __init__(self, seed, monkeypatch):
        self.random, self.monkeypatch = Random(seed), monkeypatch
        self.real = timezone.now() - timedelta(minutes=5)
        self.start = int(self.real.timestamp()) - 10 * 86_400
        self.log: list[tuple[Any, ...]] = []
        self.people = [make_user() for _ in range(PEOPLE)]
        self.circles = {one.pk: create_group(Circle, one, name="circle").pk for one in self.people}
        self.left: set[tuple[int, int]] = set()
        self.hiding = frozenset(one.pk for one in self.people[:3])
        for one in self.people[:3]:
            update_settings(one, hides_replies=True)
        self.now = World(hiding=self.hiding)

    def run(self, steps):
        verbs = {
            "publish": 12, "repost": 4, "delete": 3, "follow": 8, "unfollow": 4, "mute": 2, "unmute": 2,
            "block": 1, "unblock": 2, "tag": 2, "untag": 2, "join": 3, "leave": 1,
        }  # fmt: skip
        for number in range(steps):
            second = self.start + number * 60
            self.monkeypatch.setattr(store, "clock", lambda _counts, second=second: float(second))
            (verb,) = self.random.choices(list(verbs), list(verbs.values()))
            try:
                done = getattr(self, verb)()
            except DomainError:
                continue
            if done:
                self.log.append((second, *done))
                self.now.apply(second, *done)
                self.stamp(second)
        return self

    def stamp(self, second):
        """Give what was just written the time of the history."""
        updates = [
            f"UPDATE {table} SET {column} = to_timestamp(%(then)s) WHERE {column} BETWEEN %(real)s AND 'tomorrow'"
            for table, column in STAMPED
        ]
        with connection.cursor() as cursor:  # in one round trip
            cursor.execute("; ".join(updates), {"then": second + 0.5, "real": self.real})

    def world(self, second):
        found = World(hiding=self.hiding)
        for when, *done in self.log:
            if when <= second:
                found.apply(when, *done)
        return found

    def two(self):
        return self.random.sample(self.people, 2)

    def some_post(self, **conditions):
        ids = [
            pk
            for pk, post in self.now.posts.items()
            if pk not in self.now.deleted
            and all(post[name] == value for name, value in conditions.items())
        ]
        return self.random.choice(ids) if ids else None

    def publish(self):
        author, other = self.two()
        kinds = ["public"] * 5 + ["unlisted", "followers", "friends", "mentioned", "circle"]
        visibility, language = self.random.choice(kinds), self.random.choice(["en", "de"])
        tags = [self.random.choice(TAGS)] if self.random.random() < 0.3 else []
        named = visibility in {"mentioned", "followers"} and self.random.random() < 0.5
        body = (
            "Hello " + (f"@{other.handle} " if named else "") + " ".join(f"#{tag}" for tag in tags)
        )
        circle = {"circle_id": self.circles[author.pk]} if visibility == "circle" else {}
        parent = (
            self.some_post(visibility="public", source=None) if visibility == "public" else None
        )
        if parent is None or self.random.random() < 0.6 or not self.now.sees(author.pk, parent):
            parent = None
        post = publish(
            author, body, visibility=visibility, language=language, reply_to_id=parent, **circle
        )
        return "publish", post.pk, {
            "author": author.pk, "visibility": visibility, "language": language, "tags": tags,
            "named": {other.pk} if named else set(), "source": None,
            "answers": self.now.posts[parent]["author"] if parent else None,
        }  # fmt: skip

    def repost(self):
        author = self.random.choice(self.people)
        source = self.some_post(visibility="public", source=None)
        mine = {
            (post["author"], post["source"])
            for pk, post in self.now.posts.items()
            if pk not in self.now.deleted
        }
        if source is None or (author.pk, source) in mine or not self.now.sees(author.pk, source):
            return None
        post = repost(author, source)
        return "publish", post.pk, {
            "author": author.pk, "visibility": "public", "language": "", "tags": [], "named": set(), "source": source,
            "answers": None,
        }  # fmt: skip

    def delete(self):
        post_id = self.some_post(source=None)
        if post_id is None:
            return None
        author = next(one for one in self.people if one.pk == self.now.posts[post_id]["author"])
        delete_post(post_id, by=author)
        return "delete", post_id

    def follow(self):
        one, other = self.two()
        shows, languages = (
            self.random.random() < 0.8,
            self.random.choice([(), (), ("en",), ("de",)]),
        )
        follow_user(one, other, reposts=shows, languages=languages)
        return "follow", one.pk, other.pk, (shows, languages)

    def _pair(self, verb, act):
        one, other = self.two()
        act(one, other)
        return verb, one.pk, other.pk

    def unfollow(self):
        return self._pair("unfollow", unfollow_user)

    def mute(self):
        return self._pair("mute", mute_user)

    def unmute(self):
        return self._pair("unmute", unmute_user)

    def block(self):
        return self._pair("block", block_user)

    def unblock(self):
        return self._pair("unblock", unblock_user)

    def tag(self):
        one, tag = self.random.choice(self.people), self.random.choice(TAGS)
        follow_tag(one, tag)
        return "tag", one.pk, tag

    def untag(self):
        one, tag = self.random.choice(self.people), self.random.choice(TAGS)
        unfollow_tag(one, tag)
        return "untag", one.pk, tag

    def join(self):
        owner, member = self.two()
        if (owner.pk, member.pk) in self.left:
            return None  # an earlier membership is not known any more
        add_members(Circle, owner, self.circles[owner.pk], [member.pk])
        self.left.add((owner.pk, member.pk))
        return "join", owner.pk, member.pk

    def leave(self):
        owner, member = self.two()
        leave_circle(member, self.circles[owner.pk])
        return "leave", owner.pk, member.pk


@pytest.fixture
def generous(settings):
    settings.RATE_LIMITS = {
        name: (10**6, seconds) for name, (_count, seconds) in settings.RATE_LIMITS.items()
    }


def walk(reader, moment, limit):
    """All ids of a home as of a moment, and how many were deleted since."""
    ids, deleted, cursor = [], 0, Cursor(limit=limit)
    while True:
        past = home_as_of(reader, moment, cursor)
        ids += [item.id for item in past.page.items]
        deleted += past.deleted
        if past.page.older is None:
            return ids, deleted
        cursor = Cursor(max_id=past.page.older, limit=limit)


@pytest.mark.parametrize(
    ("steps", "pairs"),
    [
        pytest.param(210, 30, marks=[pytest.mark.long, pytest.mark.gate]),
        pytest.param(420, 1000, marks=pytest.mark.long),
    ],
)
def test_pages_of_the_past_are_what_the_history_says(steps, pairs, generous, monkeypatch):
    history = History(17, monkeypatch).run(steps)
    random, compared, different_from_today, with_deleted = Random(18), 0, 0, 0
    for _pair in range(pairs):
        reader = random.choice(history.people)
        second = history.start + random.randrange(steps * 60)
        then = history.world(second)
        expected = [
            pk
            for pk in sorted(then.posts, reverse=True)
            if then.belongs(reader.pk, pk) and history.now.sees(reader.pk, pk)
        ]
        authors = {reader.pk} | {other for one, other in then.follows if one == reader.pk}
        gone = [
            pk
            for pk, when in history.now.deleted.items()
            if when > second and pk in then.posts and then.posts[pk]["author"] in authors
            and then.posts[pk]["visibility"] in {"public", "unlisted", "followers"}
            and (reader.pk, then.posts[pk]["author"]) not in then.mutes
            and not then.hides_reply(reader.pk, then.posts[pk])
        ]  # fmt: skip
        ids, deleted = walk(reader, datetime.fromtimestamp(second, UTC), random.choice([15, 40]))
        wrong = [(pk, then.posts[pk]) for pk in set(ids) ^ set(expected)]
        assert (ids, deleted) == (expected, len(gone)), (reader.pk, second, wrong)
        today = [
            pk
            for pk in then.posts
            if history.now.belongs(reader.pk, pk) and history.now.sees(reader.pk, pk)
        ]
        compared, with_deleted = compared + len(ids), with_deleted + bool(gone)
        different_from_today += set(ids) != set(today)
    assert compared > 5 * pairs
    assert different_from_today > pairs / 2  # else today's rows alone would do


def test_history_is_purged(alice, bob, settings):
    follow_user(bob, alice)
    unfollow_user(bob, alice)
    follow_tag(bob, "rivers")
    unfollow_tag(bob, "rivers")
    purge_past_relations()
    purge_past_follows()
    assert (PastRelation.objects.count(), PastTagFollow.objects.count()) == (1, 1)
    settings.HOME_HISTORY_DAYS = -1
    purge_past_relations()
    purge_past_follows()
    assert (PastRelation.objects.count(), PastTagFollow.objects.count()) == (0, 0)


def test_a_change_of_notifications_alone_is_no_history(alice, bob):
    follow_user(bob, alice)
    follow_user(bob, alice, notify=True)
    assert not PastRelation.objects.exists()
    follow_user(bob, alice, reposts=False)
    assert PastRelation.objects.get().shows_reposts


def test_the_future_is_not_known(bob):
    with pytest.raises(BadRequest):
        home_as_of(bob, timezone.now() + timedelta(minutes=1), Cursor())


def test_history_begins_with_its_tables_and_ends_with_its_retention(settings):
    assert history_begins() > timezone.now() - timedelta(days=settings.HOME_HISTORY_DAYS)
    settings.HOME_HISTORY_DAYS = 0
    assert timezone.now() - history_begins() < timedelta(seconds=5)


def now():
    return timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def unfollowed(alice, bob):
    """Bob followed alice, whose public and restricted posts were on his page, and does not any more."""
    Followee.objects.update(created_at=timezone.now() - timedelta(seconds=60))
    with seconds_ago(40):
        posts = [
            publish(alice, "For everybody."),
            publish(alice, "For followers.", visibility="followers"),
        ]
        gone = publish(alice, "Soon to go.")
    moment = (timezone.now() - timedelta(seconds=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    unfollow_user(bob, alice)
    delete_post(gone.pk, by=alice)
    return moment, posts


def test_the_page_shows_what_was_there_and_may_be_seen_today(unfollowed, bob, page_of):
    moment, _posts = unfollowed
    text = page_of(bob).get(f"/home/as-of?as_of={moment}").content.decode()
    assert "For everybody." in text
    assert "For followers." not in text  # it was there, and is not for him today
    assert "Soon to go." not in text
    assert "1 post that was here has been deleted since." in text
    today = page_of(bob).get(f"/home/as-of?as_of={now()}").content.decode()
    assert "There was nothing on this home page." in today


def test_the_page_says_what_is_not_known(bob, page_of):
    text = page_of(bob).get("/home/as-of?as_of=2025-01-01T12:00").content.decode()
    assert "are not recorded: posts by people unfollowed" in text
    assert "filters, exclusive lists and suspended accounts" in text
    assert "are not recorded: posts" not in page_of(bob).get("/home/as-of").content.decode()


def test_the_page_is_for_oneself_only(page_of):
    assert page_of(None).get("/home/as-of?as_of=2025-01-01").status_code == 302


def test_staff_see_what_another_page_was_and_it_is_on_record(unfollowed, alice, bob, page_of):
    moment, (public, _restricted) = unfollowed
    follow_user(bob, alice)  # so that Bob may see the restricted one today
    page = f"/explain/@{bob.handle}/as-of"
    asked = f"{page}?as_of={moment}"
    powerless = make_staff("posts.view_post")
    for other in (None, alice, powerless):
        answer = page_of(other).get(asked)
        assert answer.status_code == (404 if other else 302)
        assert "For everybody." not in answer.text
    assert not LogEntry.objects.exists()
    staff = make_staff("accounts.view_user")
    text = page_of(staff).get(asked).text
    assert "For everybody." in text
    assert f"/@alice/{public.pk}" in text
    assert "For followers." not in text
    assert "A post with a limited audience" in text
    assert "Soon to go." not in text
    [entry] = LogEntry.objects.filter(user=staff)
    assert (entry.object_id, entry.change_message) == (str(bob.pk), f"read {asked}")
    assert "For followers." in page_of(bob).get(f"/home/as-of?as_of={moment}").text
    page_of(staff).get(f"/explain/@{bob.handle}")
    assert LogEntry.objects.filter(user=staff, object_id=str(bob.pk)).count() == 2
    assert page_of(staff).get("/explain/@nobody_here/as-of").status_code == 404
    assert page_of(staff).get(f"{page}?as_of=soon").status_code == 400


def test_staff_have_to_pass_their_second_factor_first(unfollowed, bob, page_of, settings):
    settings.STAFF_SECOND_FACTOR = True
    moment, _posts = unfollowed
    answer = page_of(make_staff("accounts.view_user")).get(
        f"/explain/@{bob.handle}/as-of?as_of={moment}"
    )
    assert (answer.status_code, "For everybody." in answer.text) == (302, False)


def test_the_api_answers_as_of_a_moment(unfollowed, bob, api_of):
    moment, (public, _restricted) = unfollowed
    home = "/api/v1/timelines/home"
    found = api_of(bob).get(f"{home}?as_of={moment}")
    assert [status["id"] for status in found.json()] == [str(public.pk)]
    assert "as_of=" in found["Link"]
    assert api_of(bob).get(home).json() == []
    for query in (
        "as_of=soon",
        "as_of=2090-01-01",
        f"as_of={moment}&promoted=1",
        f"as_of={moment}&exclude_read=1",
    ):
        assert api_of(bob).get(f"{home}?{query}").status_code == 400, query
    assert api_of(None).get(f"{home}?as_of={moment}").status_code == 401


@pytest.mark.long
def test_pages_of_the_past_are_limited(bob, page_of, settings):
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"past": (1, 60)}
    path = "/home/as-of?as_of=2025-01-01"
    assert [page_of(bob).get(path).status_code for _ in range(2)] == [200, 429]


def test_the_form_is_on_the_clock_of_its_reader(bob, page_of):
    """Scripts add how far that is from UTC; without them the time is UTC, and the page says so."""
    browser = page_of(bob)
    page = browser.get("/home/as-of", {"as_of": "2026-11-27T20:00:00", "utc_offset": "-480"}).text
    assert (
        'value="2026-11-27T12:00:00"' in page
    )  # which scripts show on the clock of the reader again
    assert "(UTC)" in page
    for wrong in ("soon", "-841", "99999999999999999999"):
        assert (
            browser.get(
                "/home/as-of", {"as_of": "2026-11-27T20:00", "utc_offset": wrong}
            ).status_code
            == 400
        )
    last = {"as_of": "9999-12-31T23:59:59", "utc_offset": "60"}
    assert browser.get("/home/as-of", last).status_code == 400
