"""People with some of everything, so that requested things exist. Each round deletes much, so each gets new people."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.utils import timezone
from PIL import Image

from apps.accounts.actions import issue_token, register
from apps.accounts.authentication.session_store import SessionStore
from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.events import actions as events
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, KeywordChange, add_post, create_filter
from apps.graph.actions import follow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle, FollowRequest, UserList
from apps.notifications.models import Announcement, Conversation, Notification
from apps.posts.actions.drafts import Draft, PollDraft
from apps.posts.actions.publish import publish_post, repost
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Visibility
from apps.timeline.fanout import dispatch

PASSWORD = "a long enough passphrase"  # noqa: S105 -- of accounts that exist for one run


@dataclass
class Population:
    """The clients' credentials, and valid values for addresses and forms, by the names of parameters."""

    token: str
    other_token: str
    session: str
    known: dict[str, list[Any]] = field(default_factory=dict)

    def good(self, name: str, chance: random.Random) -> str | None:
        values = self.known.get(name)
        return str(chance.choice(values)) if values else None


def populate(number: int) -> Population:
    alice, bob, *fans = (
        _person(f"r{number}{name}") for name in ("alice", "bob", "fan1", "fan2", "fan3")
    )
    for one in (bob, *fans[:2]):
        follow_user(one, alice)
        follow_user(alice, one)
    FollowRequest.objects.create(owner=alice, requester=fans[2])
    circle = create_group(Circle, alice, name="Close")
    add_members(Circle, alice, circle.pk, [bob.pk])
    posts = _posts(alice, bob, fans, circle.pk)
    settle()
    return _described(user_by_id(alice.pk), bob, fans, circle.pk, posts)


def settle() -> None:
    while events.run_due(limit=100) or dispatch.run_due(limit=100):
        pass


def _person(handle: str) -> User:
    user = register(handle=handle, email=f"{handle}@example.org", password=PASSWORD)
    return user_by_id(user.pk)


def _posts(alice: User, bob: User, fans: Sequence[User], circle_id: int) -> list[int]:
    made = []
    for visibility in Visibility.values:
        circle = circle_id if visibility == Visibility.CIRCLE else None
        body = f"Said to some: {visibility} @{bob.handle} #river"
        made.append(
            publish_post(alice, Draft(body, visibility=visibility, circle_id=circle)).post.pk
        )
    poll = PollDraft(["Red", "Green"], 3600)
    made += [publish_post(one, Draft("Which?", poll=poll)).post.pk for one in (alice, bob, *fans)]
    made.append(publish_post(alice, Draft("Look.", media_ids=[_picture(alice)])).post.pk)
    made.append(
        publish_post(bob, Draft(f"@{alice.handle} I see. #river", reply_to_id=made[0])).post.pk
    )
    made.append(publish_post(bob, Draft("Look.", quote_of_id=made[0])).post.pk)
    made.append(repost(alice, made[6]).post.pk)
    for fan in fans:
        told = Draft(f"@{alice.handle} for you", visibility=Visibility.MENTIONED)
        made.append(publish_post(fan, told).post.pk)
    return made


def _described(
    alice: User, bob: User, fans: Sequence[User], circle_id: int, posts: list[int]
) -> Population:
    words = [KeywordChange(keyword="tea")]
    filters = [
        create_filter(alice, FilterChange(f"Quiet {n}", ["home"], keywords=words)) for n in range(4)
    ]
    lists = [create_group(UserList, alice, name=f"Mine {n}").pk for n in range(4)]
    add_members(UserList, alice, lists[0], [bob.pk])
    news = [Announcement.objects.create(text="hello").pk for _one in range(2)]
    talks = Conversation.objects.filter(user=alice).values_list("pk", flat=True)
    notes = list(Notification.objects.filter(user=alice).values_list("pk", flat=True))
    later = timezone.now() + timedelta(hours=1)
    people = [alice, bob, *fans]
    return Population(
        issue_token(alice, name="fuzz"),
        issue_token(bob, name="fuzz"),
        _session(alice),
        {
            "status_id": posts, "post_id": posts, "id": posts, "in_reply_to_id": posts, "quoted_status_id": posts,
            "poll_id": posts[5:10],
            "max_id": posts, "min_id": posts, "since_id": posts, "status_ids": posts, "reply_to": posts, "quote": posts,
            "account_id": [one.pk for one in people], "handle": [one.handle for one in people],
            "feed_id": [create_feed(alice, name="Mine", include_tags=["river"]).pk for _one in range(4)],
            "list_id": lists, "circle_id": [circle_id], "group_id": [*lists, circle_id], "member_id": [bob.pk],
            "filter_id": [one.pk for one in filters], "keyword_id": [one.keywords.get().pk for one in filters],
            "row_id": [add_post(alice, one.pk, posts[0]).pk for one in filters],
            "notification_id": notes, "group_key": [f"ungrouped-{one}" for one in notes],
            "conversation_id": list(talks), "announcement_id": news, "emoji": ["👍"],
            "media_id": [_picture(alice) for _one in range(4)],
            "number": [schedule_post(alice, Draft("Later."), later).pk for _one in range(4)],
            "name": ["river"], "day": [timezone.now().date().isoformat()], "q": ["river", "from:me", '"said to"'],
        },
    )  # fmt: skip


def _picture(owner: User) -> int:
    return upload_picture(owner, BytesIO(picture())).pk


def picture() -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (60, 40), (200, 30, 30)).save(buffer, "PNG")
    return buffer.getvalue()


def _session(user: User) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return session.session_key or ""


Populate = Callable[[int], Population]
