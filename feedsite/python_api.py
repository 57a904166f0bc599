"""The feed for other Python code: three functions, in a process where Django is set up.

    import django; django.setup()
    from feedsite.python_api import add_activity, follow, get_activity

    follow("bob", "alice")
    add_activity("alice", "post", "The river is high today.")
    page = get_activity("bob")
    page = get_activity("bob", page.last_id)      # what came since

They use the actions and queries of the pages and the API: rate limits, blocks and visibility apply,
and the workers deliver. Errors are `apps.errors.DomainError` with a code and a message. Ids are integers.
"""

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle, user_by_id
from apps.errors import Invalid
from apps.graph.actions import follow_user, unfollow_user
from apps.paging import MAX_LIMIT, Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.models import Visibility
from apps.timeline import home, publishing
from apps.timeline.home import Activity
from apps.timeline.profile import ProfileFilter, profile_timeline

__all__ = ["Activity", "add_activity", "follow", "get_activity", "unfollow"]

Person = User | int | str
VERBS = ("post", "reply", "quote", "repost")


def add_activity(
    actor: Person,
    verb: str,
    message: str = "",
    *,
    target: int | None = None,
    visibility: str = Visibility.PUBLIC,
    idempotency_key: str = "",
) -> int:
    """Publish a post; its id. It is in the author's own feed when
    this returns, and being delivered to others.

    `verb` is post, reply, quote or repost; the last three need the id of a post as `target`, and a
    repost takes no message. Calls with the same idempotency key make one post. Invalid, NotFound,
    NotAllowed, TooMany.
    """
    author = _person(actor)
    if verb not in VERBS:
        raise Invalid(f"The verb is one of {', '.join(VERBS)}.", errors={"verb": "unknown"})
    if (target is None) != (verb == "post"):
        raise Invalid("Replies, quotes and reposts have a target.", errors={"target": "missing"})
    if verb == "repost" and target is not None:
        post = publishing.repost(author, target)
    else:
        draft = Draft(
            body=message,
            visibility=visibility,
            reply_to_id=target if verb == "reply" else None,
            quote_of_id=target if verb == "quote" else None,
        )
        key = f"python:{idempotency_key}" if idempotency_key else ""
        post = publishing.publish(author, draft, idempotency_key=key)
    return post.pk


def follow(follower: Person, followee: Person) -> None:
    """Twice is once. NotAllowed, NotFound, TooMany."""
    follow_user(_person(follower), _person(followee))


def unfollow(follower: Person, followee: Person) -> None:
    """Does nothing without a follow."""
    unfollow_user(_person(follower), _person(followee))


def get_activity(
    reader: Person,
    last_id: str | None = None,
    *,
    kind: str = "home",
    owner: Person | None = None,
    limit: int = 20,
) -> Activity:
    """What came since `last_id`, newest first, at most `limit` (1 to 40), late
    deliveries included; continue from the result's `last_id`.

    `kind` is home, or personal: the posts of `owner` (by default the reader) that the reader may
    see. Without `last_id` the newest. Invalid for another kind, BadRequest for a malformed
    `last_id`.
    """
    viewer, limit = _person(reader), min(max(limit, 1), MAX_LIMIT)
    if kind == "home":
        return home.get_activity(viewer, last_id, limit=limit)
    if kind != "personal":
        raise Invalid("The kind is home or personal.", errors={"kind": "unknown"})
    writer = viewer if owner is None else _person(owner)
    above = home.ReadPosition.parse(last_id).newest_id if last_id else None
    page = profile_timeline(writer, viewer.pk, Cursor(min_id=above, limit=limit), ProfileFilter())
    newest = max((item.id for item in page.items), default=above or 0)
    more = above is not None and len(page.items) == limit
    return Activity(page.items, str(newest), more=more)


def _person(person: Person) -> User:
    """By instance, id or handle. NotFound."""
    if isinstance(person, User):
        return user_by_id(person.pk)  # with its counts as they are now
    return user_by_id(person) if isinstance(person, int) else user_by_handle(person)
