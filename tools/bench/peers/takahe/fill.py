"""Run by Takahē's own Python in its checkout: creates the same people, follows, posts and timelines as the bench.

The argument is JSON with the numbers; the last line printed is a JSON list with the tokens of the readers. Posts and
follows are stored as if Takahē's background process had already done its work for them.
"""

import json
import random
import secrets
import sys
from datetime import datetime, timedelta
from typing import Any

import django
from django.apps import apps
from django.utils import timezone

BATCH = 2000
# Takahē's ids: milliseconds since its epoch, 19 random bits, 3 bits for the kind. Random bits would collide among
# thousands of ids from one millisecond, so they are a counter here.
EPOCH, SEQUENCE_BITS, TYPE_BITS = 1641020400, 19, 3
POST, IDENTITY, FOLLOW = 0b000, 0b010, 0b100
TEXT = "<p>A post of some words, as people write them, number {number}</p>"
SECONDS_APART = 97


def main(wanted: dict[str, Any]) -> list[str]:
    domain = _model("users.Domain").objects.create(
        domain=wanted["domain"], local=True, public=True, default=True
    )
    authors = _people(domain, "author", range(wanted["authors"]))
    readers = _people(
        domain, "reader", range(wanted["authors"], wanted["authors"] + wanted["readers"])
    )
    newest = _posts(authors, wanted["posts"])
    dice, now = random.Random(1), timezone.now()
    follows: list[Any] = []
    events: list[Any] = []
    follow, event = _model("users.Follow"), _model("activities.TimelineEvent")
    dated = "published" in {field.name for field in event._meta.get_fields()}
    for reader in readers:
        followed = dice.sample(authors, wanted["followees"])
        follows += [
            follow(
                id=_id(FOLLOW, now, len(follows) + at), source=reader, target=one, state="accepted"
            )
            for at, one in enumerate(followed)
        ]
        ids = {one.pk for one in followed}
        page = [post for post in newest if post.author_id in ids][: wanted["entries"]]
        for post in reversed(page):
            when = {"published": post.published} if dated else {}
            events.append(event(identity=reader, type="post", subject_post=post, **when))
    follow.objects.bulk_create(follows, batch_size=BATCH)
    event.objects.bulk_create(events, batch_size=BATCH)
    return _tokens(readers)


def _id(kind: int, when: datetime, number: int) -> int:
    """An id like Takahē's own, unique for each number."""
    milliseconds = int((when.timestamp() - EPOCH) * 1000) + (number >> SEQUENCE_BITS)
    sequence = number & ((1 << SEQUENCE_BITS) - 1)
    return ((milliseconds << SEQUENCE_BITS | sequence) << TYPE_BITS) | kind


def _people(domain: Any, name: str, numbers: range) -> list[Any]:
    identity, now = _model("users.Identity"), timezone.now()
    made = [
        identity(
            id=_id(IDENTITY, now, at),
            actor_uri=f"https://{domain.pk}/@{name}{at}@{domain.pk}/",
            profile_uri=f"https://{domain.pk}/@{name}{at}/",
            username=f"{name}{at}",
            name=f"{name} {at}",
            domain=domain,
            local=True,
            state="updated",
        )
        for at in numbers
    ]
    identity.objects.bulk_create(made, batch_size=BATCH)
    return list(identity.objects.filter(username__startswith=name).order_by("pk"))


def _posts(authors: list[Any], each: int) -> list[Any]:
    """Posts of all authors in turn, newest first."""
    post, now = _model("activities.Post"), timezone.now()
    total = each * len(authors)
    times = [
        now - timedelta(seconds=(total - at) * SECONDS_APART / len(authors)) for at in range(total)
    ]
    made = [
        post(
            id=_id(POST, times[at], at),
            author=authors[at % len(authors)],
            content=TEXT.format(number=at),
            local=True,
            visibility=0,
            state="fanned_out",
            object_uri=f"{authors[at % len(authors)].actor_uri}posts/bench{at}/",
            url=f"{authors[at % len(authors)].actor_uri}posts/bench{at}/",
            published=times[at],
        )
        for at in range(total)
    ]
    post.objects.bulk_create(made, batch_size=BATCH)
    return list(post.objects.order_by("-published"))


def _tokens(readers: list[Any]) -> list[str]:
    application = _model("api.Application").objects.create(
        name="bench", client_id="bench", client_secret=secrets.token_urlsafe(), redirect_uris="", scopes="read"
    )  # fmt: skip
    tokens = []
    for reader in readers:
        user = _model("users.User").objects.create(email=f"{reader.username}@example.com")
        reader.users.add(user)
        tokens.append(secrets.token_urlsafe(32))
        _model("api.Token").objects.create(
            application=application, user=user, identity=reader, token=tokens[-1], scopes=["read"]
        )
    return tokens


def _model(name: str) -> Any:
    return apps.get_model(name)


if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))) + "\n")
