"""Authors with long histories, made in bulk, and what a plain reading of PostgreSQL says of them."""

from itertools import count

from django.db.models import F, Q, Value
from django.db.models.functions import Greatest

from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_id
from apps.graph.actions import follow_user
from apps.graph.models import Followee, Follower
from apps.posts.models import OPEN, Post, PostCounts
from feedcache.ids import compose
from tests.support.factories import deliver, make_user

FIRST_SECOND = 1_700_000_000
_numbers = count(1)


def write(author, number, *, start=0, reply_to=None, visibility="public"):
    """`number` posts of an author, one a minute; every third one a reply when there is something to reply to."""
    posts = [
        Post(
            id=compose(FIRST_SECOND + 60 * n, author.pk, 0),
            author=author,
            thread_id=0,
            visibility=visibility,
            reply_to=reply_to if n % 3 == 0 else None,
        )
        for n in range(start, start + number)
    ]
    Post.objects.bulk_create(posts)
    PostCounts.objects.bulk_create(PostCounts(post=post) for post in posts)
    if reply_to:
        answers = sum(post.reply_to_id is not None for post in posts if visibility in OPEN)
        PostCounts.objects.filter(pk=reply_to.pk).update(replies=F("replies") + answers)
    step = number if visibility in OPEN else 0
    UserCounts.objects.filter(pk=author.pk).update(
        posts=F("posts") + step,
        last_post_id=Greatest("last_post_id", Value(posts[-1].pk)),
        outbox_revision=F("outbox_revision") + step,
    )
    if visibility not in OPEN:
        UserCounts.objects.filter(pk=author.pk).update(wrote_restricted=True)
    return [post.pk for post in posts]


def fresh(user):
    """The account as a request would load it, with its counts of now."""
    return user_by_id(user.pk)


def reader_of(authors):
    """Somebody who follows them and whose windows are up to date."""
    reader = make_user("reader")
    for author in authors:
        follow_user(reader, author)
    deliver()
    return fresh(reader)


def truth(author_ids, *, replies=True):
    """All public and unlisted ids of some authors, newest first."""
    rows = Post.objects.filter(author__in=author_ids, deleted_at=None, visibility__in=OPEN)
    own_thread = Q(reply_to=None) | Q(reply_to__author=F("author"))
    rows = rows if replies else rows.filter(own_thread)
    return list(rows.order_by("-pk").values_list("pk", flat=True))


def inside(ids, cursor, maximum):
    """The first `most` of some ids inside a cursor's bounds, in reading order."""
    found = [one for one in ids if cursor.admits(one)]
    return sorted(found, reverse=not cursor.ascending)[:maximum]


def crowd(number):
    """Accounts without passwords, made at once."""
    users = User.objects.bulk_create(
        User(handle=f"crowd_{next(_numbers)}", password="!") for _ in range(number)
    )
    UserCounts.objects.bulk_create(UserCounts(user=user) for user in users)
    return users


def follow_all(reader, authors):
    Followee.objects.bulk_create(Followee(owner=reader, followee=author) for author in authors)
    Follower.objects.bulk_create(Follower(owner=author, follower=reader) for author in authors)
