"""The follow graph in two tables, follow requests, blocks, mutes, notes, lists and circles.

Every follow is written twice, once for each account (source 004), so that Citus stores the followers and the followees
of a user on one server. Both rows and both counts are written in one transaction. Pages are ordered by `id`.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.db.models.expressions import Combinable
    from django_stubs_ext import StrPromise

    from apps.accounts.models import User


def languages_field() -> "ArrayField[list[str], list[str]]":
    """The languages of the posts that a follow adds to the home page; empty means all."""
    return ArrayField(
        models.CharField(max_length=8),
        verbose_name=_("languages"),
        default=list,
        db_default=[],
        blank=True,
    )


def account_field() -> "models.ForeignKey[User | Combinable, User]":
    """A foreign key to an account, without an index, because each relation declares its own indexes."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )


class Relation(models.Model):
    owner = account_field()
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        abstract = True


class Followee(Relation):
    """`owner` follows `followee`."""

    followee = account_field()
    shows_reposts = models.BooleanField(_("shows reposts"), default=True, db_default=True)
    notifies = models.BooleanField(_("notifies of new posts"), default=False, db_default=False)
    languages = languages_field()

    class Meta:
        verbose_name, verbose_name_plural = _("followee"), _("followees")
        constraints = [
            models.UniqueConstraint("owner", "followee", name="followee_once"),
            models.CheckConstraint(
                condition=~models.Q(owner=models.F("followee")), name="followee_not_self"
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-id"], name="followee_list"),
            # few follows hide reposts; the cache of such follows is loaded from this index
            models.Index(
                fields=["owner", "followee"],
                condition=models.Q(shows_reposts=False),
                name="followee_hidden_reposts",
            ),
            # few follows are limited to languages
            models.Index(
                fields=["owner"], condition=~models.Q(languages=[]), name="followee_choosy"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} -> {self.followee_id}"


class Follower(Relation):
    """`follower` follows `owner`. Fan-outs scan this table."""

    follower = account_field()
    notifies = models.BooleanField(_("wants notifications"), default=False, db_default=False)

    class Meta:
        verbose_name, verbose_name_plural = _("follower"), _("followers")
        constraints = [
            models.UniqueConstraint("owner", "follower", name="follower_once"),
            models.CheckConstraint(
                condition=~models.Q(owner=models.F("follower")), name="follower_not_self"
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-id"], include=["follower"], name="follower_list"),
            # the followers to notify of a new post, scanned once for each post
            models.Index(
                fields=["owner", "id"],
                include=["follower"],
                condition=models.Q(notifies=True),
                name="follower_told",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} <- {self.follower_id}"


class FollowRequest(Relation):
    """`requester` asks to follow `owner`, whose account is locked. The options are those of the future follow."""

    requester = account_field()
    shows_reposts = models.BooleanField(_("shows reposts"), default=True)
    notifies = models.BooleanField(_("notifies of new posts"), default=False)
    languages = languages_field()

    class Meta:
        verbose_name, verbose_name_plural = _("follow request"), _("follow requests")
        constraints = [
            models.UniqueConstraint("requester", "owner", name="follow_request_once"),
            models.CheckConstraint(
                condition=~models.Q(owner=models.F("requester")), name="follow_request_not_self"
            ),
        ]
        indexes = [models.Index(fields=["owner", "-id"], name="follow_request_list")]

    def __str__(self) -> str:
        return f"{self.requester_id} ? {self.owner_id}"


class Block(Relation):
    """`owner` and `blocked` do not see each other's posts."""

    blocked = account_field()

    class Meta:
        verbose_name, verbose_name_plural = _("block"), _("blocks")
        constraints = [
            models.UniqueConstraint("owner", "blocked", name="block_once"),
            models.CheckConstraint(
                condition=~models.Q(owner=models.F("blocked")), name="block_not_self"
            ),
        ]
        indexes = [
            models.Index(fields=["blocked", "owner"], name="block_mirror"),
            models.Index(fields=["owner", "-id"], name="block_list"),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} x {self.blocked_id}"


class Mute(Relation):
    """`owner` does not see the posts of `muted`, who is never notified of it.

    The mute is in force while the row exists; `end_due_mutes` deletes expired rows.
    """

    muted = account_field()
    hides_notifications = models.BooleanField(_("notifications too"), default=True, db_default=True)
    expires_at = models.DateTimeField(_("ends"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("mute"), _("mutes")
        constraints = [
            models.UniqueConstraint("owner", "muted", name="mute_once"),
            models.CheckConstraint(
                condition=~models.Q(owner=models.F("muted")), name="mute_not_self"
            ),
        ]
        indexes = [
            models.Index(fields=["muted"], name="mute_mirror"),
            models.Index(fields=["owner", "-id"], name="mute_list"),
            models.Index(
                fields=["expires_at"], condition=~models.Q(expires_at=None), name="mute_due"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} ~ {self.muted_id}"


class PastRelation(models.Model):
    """A follow, mute or block that has ended, or a follow as it was before its options changed.

    `past` reconstructs relations for earlier home pages from these rows and the current ones. A row is written in the
    transaction of the change, and kept for `settings.HOME_HISTORY_DAYS`.
    """

    class Kind(models.TextChoices):
        FOLLOW = "follow", _("follow")
        MUTE = "mute", _("mute")
        BLOCK = "block", _("block")

    kind = models.CharField(_("kind"), max_length=6, choices=Kind.choices)
    owner = account_field()
    other = account_field()
    began_at = models.DateTimeField(_("since"))
    ended_at = models.DateTimeField(_("until"), default=timezone.now)
    shows_reposts = models.BooleanField(_("shows reposts"), default=True)
    languages = languages_field()

    class Meta:
        verbose_name, verbose_name_plural = _("past relation"), _("past relations")
        indexes = [
            models.Index(fields=["owner", "ended_at"], name="past_relation_of_owner"),
            models.Index(fields=["other", "ended_at"], name="past_relation_mirror"),
            models.Index(fields=["ended_at"], name="past_relation_due"),
        ]

    def __str__(self) -> str:
        return (
            f"{self.owner_id} {self.kind} {self.other_id} until {self.ended_at:%Y-%m-%d %H:%M:%S}"
        )


class AccountNote(models.Model):
    """A private note by `owner` about an account."""

    owner = account_field()
    about = account_field()
    text = models.TextField(_("note"))

    class Meta:
        verbose_name, verbose_name_plural = _("note"), _("notes")
        constraints = [models.UniqueConstraint("owner", "about", name="account_note_once")]

    def __str__(self) -> str:
        return f"{self.owner_id} on {self.about_id}"


class Endorsement(Relation):
    """`owner` recommends `other`, whom they follow, on their profile. Unfollowing ends the recommendation."""

    other = account_field()

    class Meta:
        verbose_name, verbose_name_plural = _("endorsement"), _("endorsements")
        constraints = [models.UniqueConstraint("owner", "other", name="endorsement_once")]
        indexes = [
            models.Index(fields=["other"], name="endorsement_mirror"),
            models.Index(fields=["owner", "-id"], name="endorsement_list"),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} + {self.other_id}"


class GraphImport(models.Model):
    """The number of lines of an edge list that have been loaded, so that an interrupted load can resume."""

    digest = models.CharField(max_length=64, unique=True)
    lines_done = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("edge list import"), _("edge list imports")

    def __str__(self) -> str:
        return f"{self.digest[:12]}: {self.lines_done}"


class Group(Relation):
    """A named group of accounts that belongs to `owner`. Each kind is a subclass with its own constants.

    Lists and circles have separate tables, because posts refer only to circles, and a reader's circles are found by
    memberships: a popular account is in few circles, but may be in a million lists.
    """

    MAX_GROUPS: ClassVar[int]  # groups per owner
    MAX_MEMBERS: ClassVar[int]
    MAX_ADDED: ClassVar[int]  # members per call
    NAME_MAX_CHARACTERS: ClassVar[int]
    ORDER: ClassVar[tuple[str, ...]]
    # the names of API parameters or form fields in errors
    NAME_PARAMETER: ClassVar[str]
    MEMBERS_PARAMETER: ClassVar[str]
    error_messages: ClassVar[dict[str, "StrPromise"]]
    members: Any  # the manager of the memberships: the related name of `group`

    objects: ClassVar[models.Manager[Self]] = models.Manager()

    name = models.CharField(_("name"), max_length=60)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, owner: "User | int") -> models.QuerySet[Self]:
        """An account's groups, except deleted ones."""
        return cls.objects.filter(owner=owner)


class GroupMember(models.Model):
    """`member` is in `group`, a foreign key that each subclass defines."""

    group_id: int
    member = account_field()
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.member_id} in {self.group_id}"


class RepliesPolicy(models.TextChoices):
    """The replies that a list shows in addition to replies to the author's own posts and to the list's owner."""

    FOLLOWED = "followed", _("Replies to anyone you follow")
    LIST = "list", _("Replies to people in the list")
    NONE = "none", _("No replies")


class UserList(Group):
    """A list of accounts to read separately. Posts by members of an exclusive list are not on the home page."""

    MAX_GROUPS = 50
    MAX_MEMBERS = 500  # the timeline of a list makes one bounded scan for each member
    MAX_ADDED = 100
    NAME_MAX_CHARACTERS = 100
    ORDER = ("pk",)
    NAME_PARAMETER, MEMBERS_PARAMETER = "title", "account_ids"
    error_messages = {
        "not_found": _("There is no such list."),
        "no_name": _("Give the list a title."),
        "max_groups": _("You can have up to %(count)d lists."),
        "max_members": _("A list can have at most %(count)d people."),
    }

    name = models.CharField(_("title"), max_length=NAME_MAX_CHARACTERS)
    replies_policy = models.CharField(
        _("replies"), max_length=8, choices=RepliesPolicy.choices, default=RepliesPolicy.LIST
    )
    is_exclusive = models.BooleanField(_("exclusive"), default=False)

    class Meta:
        verbose_name, verbose_name_plural = _("list"), _("lists")
        indexes = [models.Index(fields=["owner", "id"], name="list_of_owner")]


class ListMember(GroupMember):
    """A member of a list. Rows of accounts that the owner no longer follows are ignored, and deleted later."""

    group = models.ForeignKey(UserList, models.CASCADE, related_name="members", db_index=False)

    class Meta:
        verbose_name, verbose_name_plural = _("list member"), _("list members")
        constraints = [models.UniqueConstraint("group", "member", name="list_member_once")]
        indexes = [
            models.Index(fields=["group", "-id"], name="list_member_page"),
            models.Index(fields=["member", "group"], name="list_member_mine"),
        ]


class Circle(Group):
    """An audience for posts (sources 000, 002: groups). Every member may post to a shared circle.

    The row of a deleted circle stays, without members, for the posts that refer to it.
    """

    MAX_GROUPS = 100
    MAX_MEMBERS = 1000  # one script writes to the inboxes of all members
    MAX_ADDED = 50  # the counts rows of all added members are locked together
    NAME_MAX_CHARACTERS = 60
    ORDER = ("name", "pk")
    NAME_PARAMETER, MEMBERS_PARAMETER = "name", "handles"
    error_messages = {
        "not_found": _("There is no such circle."),
        "no_name": _("Give the circle a name."),
        "max_groups": _("You can have up to %(count)d circles."),
        "max_members": _("A circle can have at most %(count)d members."),
    }

    is_shared = models.BooleanField(_("members may post"), default=False)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("circle"), _("circles")
        constraints = [
            models.UniqueConstraint(
                "owner", "name", condition=models.Q(deleted_at=None), name="circle_name_once"
            )
        ]

    @classmethod
    def of(cls, owner: "User | int") -> models.QuerySet[Self]:
        """An account's circles, except deleted ones."""
        return super().of(owner).filter(deleted_at=None)


class CircleMember(GroupMember):
    """A member of a circle. Always read from PostgreSQL, so that leaving a circle takes effect immediately."""

    group = models.ForeignKey(Circle, models.CASCADE, related_name="members", db_index=False)

    class Meta:
        verbose_name, verbose_name_plural = _("circle member"), _("circle members")
        constraints = [models.UniqueConstraint("group", "member", name="circle_member_once")]
        indexes = [models.Index(fields=["member", "group"], name="circle_member_mine")]
