"""Home after random histories, windows thrown away at random: both directions are what the rules say.

The oracle is a world of plain sets beside the real one; it shares no code with it and reads no table.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

import pytest

from apps.accounts.actions import update_settings
from apps.errors import NotAllowed
from apps.graph.actions import block_user, follow_user, unblock_user, unfollow_user
from apps.graph.groups.actions import (
    add_members,
    create_group,
    delete_group,
    leave_circle,
    remove_members,
)
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.timeline.home import home_timeline
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.structures import home_window
from tests.support import pages
from tests.support.factories import deliver, make_user, publish, repost
from tests.timeline.short_caches import shorten

pytestmark = [pytest.mark.django_db, pytest.mark.long]

PEOPLE = 5
STEPS, ROUNDS = 14, 4  # things that happen between two looks; looks
REASONS = {"own", "public", "followers", "circle", "circle, not followed", "a hidden reply"}


@dataclass
class Said:
    """A post as the oracle knows it."""

    author: int
    visibility: str
    circle: int | None = None
    named: set[int] = field(default_factory=set)
    source: int | None = None
    answers: int | None = None  # whom


@dataclass
class Oracle:
    """Who follows, blocks and belongs, and what was said."""

    follows: set[tuple[int, int]] = field(default_factory=set)
    blocks: set[tuple[int, int]] = field(default_factory=set)
    unshared: set[tuple[int, int]] = field(default_factory=set)  # follows without reposts
    hiding: set[int] = field(default_factory=set)  # who hide replies to strangers
    owners: dict[int, int] = field(default_factory=dict)  # of circles that are there
    members: dict[int, set[int]] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)
    posts: dict[int, Said] = field(default_factory=dict)

    def inside(self, circle):
        return self.members[circle] | {self.owners[circle]} if circle in self.owners else set()

    def sees(self, reader, post_id):
        post = self.posts.get(post_id)
        if post is None or {(reader, post.author), (post.author, reader)} & self.blocks:
            return False
        if post.source is not None and not self.sees(reader, post.source):
            return False
        if post.author == reader or post.visibility in {"public", "unlisted"}:
            return True
        if post.visibility == "circle":
            return reader in self.inside(post.circle)
        if post.visibility == "friends":
            return {(reader, post.author), (post.author, reader)} <= self.follows
        if reader in post.named:
            return True
        return post.visibility == "followers" and (reader, post.author) in self.follows

    def reason(self, reader, post_id):
        """Why a post is in somebody's home."""
        post = self.posts[post_id]
        if post.author == reader:
            return "own"
        followed = "" if (reader, post.author) in self.follows else ", not followed"
        return f"{post.visibility}{followed}"

    def is_hidden_reply(self, reader, post):
        return (
            reader in self.hiding
            and post.answers not in {None, post.author, reader}
            and post.author != reader
            and (reader, post.answers) not in self.follows
        )

    def home(self, reader):
        all_of_it = self.whole_home(reader)
        return [one for one in all_of_it if not self.is_hidden_reply(reader, self.posts[one])]

    def whole_home(self, reader):
        return [
            post_id
            for post_id, post in sorted(self.posts.items(), reverse=True)
            if self.sees(reader, post_id)
            and (
                post.author == reader
                or (reader, post.author) in self.follows
                or post.visibility == "circle"
            )
            and not (post.source is not None and (reader, post.author) in self.unshared)
        ]


class History:
    """Both worlds, changed together."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.oracle = Oracle()
        self.users = {user.pk: user for user in (make_user() for _ in range(PEOPLE))}
        for one in self.users:
            for other in self.users:
                if one != other and self.random.random() < 0.5:
                    self.follow(one, other)
        for number in range(3):
            owner = self.anybody()
            circle = create_group(
                Circle, self.users[owner], name=f"c{number}", is_shared=bool(number)
            )
            self.oracle.owners[circle.pk], self.oracle.members[circle.pk] = owner, set()
            if number:
                self.oracle.shared.add(circle.pk)
        for reader in self.users:
            home_timeline(self.users[reader], Cursor())  # everybody is online before anybody joins
        self.begin(sorted(self.users), max(self.oracle.owners))
        deliver()

    def begin(self, people, circle):
        """Every reason to be in a home once:
        a shared circle with a member who follows its owner, and one who does not.
        """
        owner = self.oracle.owners[circle]
        staying, leaving = [one for one in people if one != owner][:2]
        for one in (staying, leaving):
            self.follow(one, owner)
            add_members(Circle, self.users[owner], circle, [self.users[one].pk])
            self.oracle.members[circle].add(one)
        self.unfollow(leaving, owner)
        for visibility in ("public", "followers"):
            self.publish(owner, staying, visibility, None)
        for author in (owner, staying):
            self.publish(author, leaving, "circle", circle)
        self.follow(leaving, staying)
        parent = self.any_post(author={owner}, visibility={"public"})
        reply = publish(self.users[staying], "yes", reply_to_id=parent)
        self.oracle.posts[reply.pk] = Said(staying, "public", answers=owner)
        update_settings(self.users[leaving], hides_replies=True)
        self.oracle.hiding.add(leaving)

    def anybody(self):
        return self.random.choice(sorted(self.users))

    def two(self):
        return self.random.sample(sorted(self.users), 2)

    def any_post(self, **wanted):
        found = [
            post_id
            for post_id, post in self.oracle.posts.items()
            if all(getattr(post, name) in values for name, values in wanted.items())
        ]
        return self.random.choice(found) if found else None  # in the order of publishing

    def say(self):
        author, named = self.two()
        visibility = self.random.choice(
            ["public", "unlisted", "followers", "followers", "friends", "mentioned"]
        )
        self.publish(author, named, visibility, None)

    def say_to_circle(self):
        circle = self.random.choice(sorted(self.oracle.owners))
        able = {self.oracle.owners[circle]}
        if circle in self.oracle.shared:
            able = self.oracle.inside(circle)
        self.publish(self.random.choice(sorted(able)), self.anybody(), "circle", circle)

    def publish(self, author, named, visibility, circle):
        body = f"hello @{self.users[named].handle}"
        post = publish(self.users[author], body, visibility=visibility, circle_id=circle)
        self.oracle.posts[post.pk] = Said(author, visibility, circle, {named})

    def answer(self):
        parent = self.any_post(visibility={"circle"})
        if parent is None:
            return
        circle = self.oracle.posts[parent].circle
        able = [one for one in self.users if self.oracle.sees(one, parent)]
        able = [one for one in able if one in self.oracle.inside(circle)]
        if able:
            author = self.random.choice(sorted(able))
            post = publish(self.users[author], "yes", reply_to_id=parent)
            whom = self.oracle.posts[parent].author
            self.oracle.posts[post.pk] = Said(author, "circle", circle, answers=whom)

    def reply(self):
        parent = self.any_post(visibility={"public", "unlisted"}, source={None})
        author = self.anybody()
        if parent is not None and self.oracle.sees(author, parent):
            post = publish(self.users[author], "yes", reply_to_id=parent)
            whom = self.oracle.posts[parent].author
            self.oracle.posts[post.pk] = Said(author, "public", answers=whom)

    def hide_replies(self):
        one, hides = self.anybody(), self.random.random() < 0.7
        update_settings(self.users[one], hides_replies=hides)
        (self.oracle.hiding.add if hides else self.oracle.hiding.discard)(one)

    def share(self):
        source = self.any_post(visibility={"public", "unlisted"}, source={None})
        author = self.anybody()
        if source is not None and self.oracle.sees(author, source):
            made = repost(self.users[author], source)
            self.oracle.posts[made.pk] = Said(author, "public", source=source)

    def delete(self):
        post_id = self.any_post()
        if post_id is not None:
            delete_post(post_id, by=self.users[self.oracle.posts[post_id].author])
            for other in [one for one, post in self.oracle.posts.items() if post.source == post_id]:
                del self.oracle.posts[other]
            del self.oracle.posts[post_id]

    def edit(self):
        post_id = self.any_post(visibility={"mentioned", "circle"})
        if post_id is not None:
            named = set(self.two())
            body = "hello " + " ".join(f"@{self.users[one].handle}" for one in sorted(named))
            post = self.oracle.posts[post_id]
            edit_post(self.users[post.author], post_id, body=body)
            post.named = named

    def follow(self, one=None, other=None, *, reposts=None):
        if one is None:
            one, other = self.two()
        try:
            follow_user(self.users[one], self.users[other], reposts=reposts)
        except NotAllowed:
            assert {(one, other), (other, one)} & self.oracle.blocks
            return
        self.oracle.follows.add((one, other))
        if reposts is not None:
            (self.oracle.unshared.discard if reposts else self.oracle.unshared.add)((one, other))

    def hide_reposts(self):
        self.follow(reposts=self.random.random() < 0.4)

    def unfollow(self, one=None, other=None):
        if one is None:
            one, other = self.two()
        unfollow_user(self.users[one], self.users[other])
        self.oracle.follows.discard((one, other))
        self.oracle.unshared.discard((one, other))

    def block(self):
        one, other = self.two()
        if self.random.random() < 0.6:
            unblock_user(self.users[one], self.users[other])
            self.oracle.blocks.discard((one, other))
            return
        block_user(self.users[one], self.users[other])
        self.oracle.blocks.add((one, other))
        self.oracle.follows -= {(one, other), (other, one)}
        self.oracle.unshared -= {(one, other), (other, one)}
        for circle, owner in self.oracle.owners.items():
            for member in {one, other} - {owner}:
                if owner in {one, other}:
                    self.oracle.members[circle].discard(member)

    def join(self):
        circle = self.random.choice(sorted(self.oracle.owners))
        owner, inside = self.oracle.owners[circle], self.oracle.members[circle]
        able = [one for one, other in self.oracle.follows if other == owner and one not in inside]
        if able:
            person = self.random.choice(sorted(able))
            add_members(Circle, self.users[owner], circle, [self.users[person].pk])
            inside.add(person)

    def part(self):
        pairs = [(c, one) for c, inside in self.oracle.members.items() for one in inside]
        if not pairs:
            return
        circle, person = self.random.choice(sorted(pairs))
        if self.random.random() < 0.5:
            leave_circle(self.users[person], circle)
        else:
            remove_members(Circle, self.users[self.oracle.owners[circle]], circle, [person])
        self.oracle.members[circle].discard(person)

    def close(self):
        if len(self.oracle.owners) > 1 and self.random.random() < 0.2:
            circle = self.random.choice(sorted(self.oracle.owners))
            delete_group(Circle, self.users[self.oracle.owners[circle]], circle)
            del self.oracle.owners[circle], self.oracle.members[circle]

    def evict(self):
        windows = self.random.choice([short_home(), short_inbox()])
        windows.drop(self.anybody())

    def read(self):
        home_timeline(self.users[self.anybody()], Cursor(limit=3))

    def step(self):
        ways = [self.say] * 4 + [self.say_to_circle] * 5 + [self.answer] * 2 + [self.join] * 4
        ways += [self.follow] * 2 + [self.unfollow] * 2 + [self.edit] * 2 + [self.evict] * 2
        ways += [
            self.reply,
            self.reply,
            self.hide_replies,
            self.hide_reposts,
            self.share,
            self.share,
            self.delete,
            self.block,
            self.close,
            self.part,
            self.read,
        ]
        self.random.choice(ways)()
        if self.random.random() < 0.4:
            deliver()

    def look(self):
        """Compare everybody's home with the oracle's, in both directions; the reasons why posts were there."""
        reasons = set()
        for reader, user in self.users.items():
            expected = self.oracle.home(reader)
            limit = self.random.choice([2, 3, 7])
            assert walk(user, limit) == expected
            assert walk_up(user, limit) == expected
            reasons |= {self.oracle.reason(reader, post_id) for post_id in expected}
            if set(self.oracle.whole_home(reader)) > set(expected):
                reasons.add("a hidden reply")
        return reasons


def short_home():
    return replace(HOME, length=6)


def short_inbox():
    return replace(INBOX, length=4)


def walk(viewer, limit):
    return pages.walk(partial(home_timeline, viewer), limit)


def walk_up(viewer, limit):
    return pages.walk_up(partial(home_timeline, viewer), limit)


@pytest.mark.parametrize("seed", range(5))
def test_pages_in_both_directions_are_what_the_rules_say(seed, monkeypatch):
    play(seed, monkeypatch)


def play(seed, monkeypatch):
    """A whole history, with a look at every home after each of its rounds."""
    shorten(monkeypatch, HOME=short_home(), INBOX=short_inbox())
    monkeypatch.setattr(home_window, "PUSH_BATCH", 1)  # pushes to two ask who is away
    history = History(seed)
    compared = history.look()
    for _round in range(ROUNDS):
        for _step in range(STEPS):
            history.step()
        deliver()
        compared |= history.look()
    assert compared >= REASONS  # a history in which nothing happens proves nothing
