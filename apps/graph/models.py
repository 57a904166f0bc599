"""The follow graph in split tables, requests to follow, blocks, mutes, notes and circles.

Every relation is written twice, once under each owner (source 004), so that both lists of a user lie together on
one shard of that owner. Both rows and both counts are written in one transaction. `id` is the keyset of the lists.
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


def languages_field() -> "ArrayField[list[str], list[str]]":
    """The languages of which somebody's posts are wanted; of all when it is empty."""
    return ArrayField(
        models.CharField(max_length=8),
        verbose_name=_("languages"),
        default=list,
        db_default=[],
        blank=True,
    )


class Followee(models.Model):
    """`owner` follows `followee`: the list of whom somebody reads."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    followee = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    shows_reposts = models.BooleanField(_("shows reposts"), default=True, db_default=True)
    notifies = models.BooleanField(_("tells of new posts"), default=False, db_default=False)
    languages = languages_field()
    created_at = models.DateTimeField(_("since"), default=timezone.now)

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
            # few hide reposts: what is kept of them in Redis is loaded from here
            models.Index(
                fields=["owner", "followee"],
                condition=models.Q(shows_reposts=False),
                name="followee_hidden_reposts",
            ),
            # and few choose languages
            models.Index(
                fields=["owner"], condition=~models.Q(languages=[]), name="followee_choosy"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} -> {self.followee_id}"


class Follower(models.Model):
    """`follower` follows `owner`: the list of who reads somebody; what fan-out walks."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    follower = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    notifies = models.BooleanField(_("wants to be told"), default=False, db_default=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

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
            # who is told of a new post: walked once for each post
            models.Index(
                fields=["owner", "id"],
                include=["follower"],
                condition=models.Q(notifies=True),
                name="follower_told",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} <- {self.follower_id}"


class FollowRequest(models.Model):
    """`requester` asks to follow `owner`, whose account is locked. The options are those of the follow to come."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    shows_reposts = models.BooleanField(_("shows reposts"), default=True)
    notifies = models.BooleanField(_("tells of new posts"), default=False)
    languages = languages_field()
    created_at = models.DateTimeField(_("since"), default=timezone.now)

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


class Block(models.Model):
    """`owner` and `blocked` see nothing of each other."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    blocked = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

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


class Mute(models.Model):
    """`owner` does not want to read `muted`, who never learns of it.

    The row is the mute: one with an end is deleted when it has come (`end_due_mutes`).
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    muted = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    hides_notifications = models.BooleanField(_("notifications too"), default=True, db_default=True)
    expires_at = models.DateTimeField(_("ends"), null=True, blank=True)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

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


class AccountNote(models.Model):
    """What `owner` noted down about an account, for nobody else's eyes."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    about = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    text = models.TextField(_("note"))

    class Meta:
        verbose_name, verbose_name_plural = _("note"), _("notes")
        constraints = [models.UniqueConstraint("owner", "about", name="account_note_once")]

    def __str__(self) -> str:
        return f"{self.owner_id} on {self.about_id}"


class Endorsement(models.Model):
    """`owner` recommends `other`, whom they follow, on their profile; it ends with the follow."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    other = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

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
    """How far an edge list has been loaded, so that an interrupted load goes on where it was."""

    digest = models.CharField(max_length=64, unique=True)
    lines_done = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.digest[:12]}: {self.lines_done}"


class Circle(models.Model):
    """A named audience of its owner's (sources 000, 002: groups). In a shared circle every member may post to it."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    name = models.CharField(_("name"), max_length=60)
    is_shared = models.BooleanField(_("members may post"), default=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("circle"), _("circles")
        constraints = [
            models.UniqueConstraint(
                "owner", "name", condition=models.Q(deleted_at=None), name="circle_name_once"
            )
        ]

    def __str__(self) -> str:
        return self.name


class CircleMember(models.Model):
    """`member` belongs to `circle`; decided anew at every read, so leaving acts on the next one."""

    circle = models.ForeignKey(Circle, models.CASCADE, related_name="members", db_index=False)
    member = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("circle member"), _("circle members")
        constraints = [models.UniqueConstraint("circle", "member", name="circle_member_once")]
        indexes = [models.Index(fields=["member", "circle"], name="circle_member_mine")]

    def __str__(self) -> str:
        return f"{self.member_id} in {self.circle_id}"
