"""An author, and readers in every combination of the relations that decide which of the author's posts they may see."""

from dataclasses import dataclass, field
from itertools import product

from apps.accounts.models import User, UserCounts
from apps.graph.groups.actions import create_group
from apps.graph.models import Block, Circle, CircleMember, Followee, Follower
from apps.posts.actions.publish import delete_post
from apps.posts.models import Mention, Post, Visibility
from tests.support.factories import make_user, publish

WAYS = ("follows", "followed back", "mentioned", "in the circle")
BLOCKS = ("", "blocks", "is blocked")


@dataclass
class Standings:
    """`posts`: one for each visibility. `ways`: the relations of each reader to the author, by the reader's id."""

    author: User
    posts: dict[str, Post]
    readers: list[User] = field(default_factory=list)
    ways: dict[int, frozenset[str]] = field(default_factory=dict)

    def unblocked(self) -> list[User]:
        return [one for one in self.readers if self.ways[one.pk].isdisjoint(BLOCKS)]

    def seen(self, ids) -> set[str]:
        """The visibilities of those posts whose ids are in `ids`."""
        return {name for name, post in self.posts.items() if post.pk in ids}

    def of(self, reader) -> str:
        return ", ".join(sorted(self.ways[reader.pk])) or "a stranger"


def every_standing(author) -> Standings:
    """48 readers, written as rows, because some combinations arise only from two actions at the same moment.

    Each reader also has all relations but a block to another author, whose only post is deleted.
    """
    circle = create_group(Circle, author, name="Some", is_shared=True)
    posts = {
        name: publish(author, visibility=name, circle_id=circle.pk if name == "circle" else None)
        for name in Visibility.values
    }
    found = Standings(author, posts)
    for *held, block in product(*((way, "") for way in WAYS), BLOCKS):
        reader = User.objects.create(handle=f"reader{len(found.readers)}", password="!")
        reader.counts = UserCounts.objects.create(user=reader, knows_circles=True)
        found.readers.append(reader)
        found.ways[reader.pk] = frozenset({*held, block} - {""})
    _write_rows(found, circle)
    return found


def _write_rows(found, circle) -> None:
    author, other = found.author, make_user("bystander")
    others_circle = create_group(Circle, other, name="Others")
    others_post = publish(other)
    delete_post(others_post.pk, by=other)

    def who(way):
        return [one for one in found.readers if way in found.ways[one.pk]]

    follows = [(one, author) for one in who("follows")]
    follows += [(author, one) for one in who("followed back")]
    follows += [pair for one in found.readers for pair in ((one, other), (other, one))]
    Followee.objects.bulk_create(Followee(owner=one, followee=other) for one, other in follows)
    Follower.objects.bulk_create(Follower(owner=other, follower=one) for one, other in follows)
    Block.objects.bulk_create(Block(owner=one, blocked=author) for one in who("blocks"))
    Block.objects.bulk_create(Block(owner=author, blocked=one) for one in who("is blocked"))
    CircleMember.objects.bulk_create(
        CircleMember(group=group, member=one)
        for group, members in ((circle, who("in the circle")), (others_circle, found.readers))
        for one in members
    )
    mentions = [(post, one) for one in who("mentioned") for post in found.posts.values()]
    mentions += [(others_post, one) for one in found.readers]
    Mention.objects.bulk_create(Mention(post=post, user=one) for post, one in mentions)
