"""Users, their counts, tokens, logins, former handles, and the e-mails sent to them."""

import hashlib
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import PermissionsMixin
from django.core.validators import RegexValidator
from django.db import models, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from apps import scopes
from apps.accounts.signals import access_revoked
from apps.events.leases import SlowRow, State
from apps.media.addresses import path_of
from feedcache.ids import MAX_AUTHOR_ID

HANDLE_PATTERN = r"[a-z0-9_]{3,30}"
# Handles that collide with an address of the site or impersonate its staff.
RESERVED_HANDLES = frozenset(
    {"about", "account", "accounts", "admin", "administrator", "api", "explore", "help", "home", "join", "login",
     "logout", "me", "media", "moderator", "official", "posts", "public", "root", "search", "security", "settings",
     "site", "staff", "static", "status", "support", "system"}
)  # fmt: skip
BIO_MAX_CHARACTERS = 500
NAME_MAX_CHARACTERS = 50
MAX_LINES = 4
LINE_MAX_CHARACTERS = 255  # for the name of a line, and for its value
PICTURE_ALT_MAX_CHARACTERS = 500  # of the descriptions of avatar and header


class Theme(models.TextChoices):
    AUTO = "auto", _("Auto")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


class TextSize(models.TextChoices):
    SMALL = "small", _("Small")
    NORMAL = "normal", _("Normal")
    LARGE = "large", _("Large")
    LARGER = "larger", _("Larger")


class Keys(models.TextChoices):
    """Which keyboard shortcuts are enabled."""

    ON = "on", _("On")
    MASTODON = "mastodon", _("On, with b to repost and Shift+b to bookmark, as in Mastodon")
    OFF = "off", _("Off")


class Density(models.TextChoices):
    """The space around posts."""

    COMFORTABLE = "comfortable", _("Comfortable")
    COMPACT = "compact", _("Compact")


class PostVisibility(models.TextChoices):
    """The default visibility of new posts, with the same values as in `posts.models.Visibility`."""

    PUBLIC = "public", _("Public")
    UNLISTED = "unlisted", _("Quiet public")
    FOLLOWERS = "followers", _("Followers")


class QuotePolicy(models.TextChoices):
    """Who may quote open posts, in addition to the author. Only their authors may quote restricted posts."""

    PUBLIC = "public", _("Everybody")
    FOLLOWERS = "followers", _("Followers")
    NOBODY = "nobody", _("Nobody")


# Mastodon's names for the values of `PostVisibility`.
PRIVACY = {
    PostVisibility.PUBLIC.value: "public",
    PostVisibility.UNLISTED.value: "unlisted",
    PostVisibility.FOLLOWERS.value: "private",
}


class UserManager(BaseUserManager["User"]):
    """Creates superusers. Sign-ups and `manage create_user` call `actions.register` instead."""

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(handle=(username or "").lower())

    def create_superuser(self, handle: str, password: str, **fields: Any) -> "User":
        """Create a superuser, for `manage.py createsuperuser`."""
        user = self.model(handle=handle, is_staff=True, is_superuser=True, **fields)
        user.set_password(password)
        user.save(using=self._db)
        UserCounts.objects.create(user=user)
        return user


class User(AbstractBaseUser, PermissionsMixin):
    """An account. Post ids contain the id of their author in 28 bits, so `id` is at most MAX_AUTHOR_ID."""

    handle = models.CharField(
        _("handle"),
        max_length=30,
        unique=True,
        db_collation="C",
        validators=[
            RegexValidator(rf"\A{HANDLE_PATTERN}\Z", _("3 to 30 characters: a-z, 0-9 and _."))
        ],
    )
    email = models.EmailField(_("e-mail"), null=True, blank=True, unique=True)
    # An address that is not confirmed yet. It has no effect, and several accounts may have the same one.
    pending_email = models.EmailField(
        _("e-mail, not confirmed"), blank=True, default="", db_default=""
    )
    pending_email_at = models.DateTimeField(null=True, blank=True)
    display_name = models.CharField(_("display name"), max_length=NAME_MAX_CHARACTERS, blank=True)
    bio = models.TextField(_("bio"), max_length=BIO_MAX_CHARACTERS, blank=True)
    avatar = models.ImageField(_("avatar"), upload_to="avatars/", blank=True)
    header = models.ImageField(_("header"), upload_to="headers/", blank=True, db_default="")
    avatar_alt = models.CharField(
        _("description of the avatar"),
        max_length=PICTURE_ALT_MAX_CHARACTERS,
        blank=True,
        default="",
        db_default="",
    )
    header_alt = models.CharField(
        _("description of the header"),
        max_length=PICTURE_ALT_MAX_CHARACTERS,
        blank=True,
        default="",
        db_default="",
    )
    # pairs of a name and a value
    lines = models.JSONField(
        _("profile lines"),
        default=list,
        blank=True,
        db_default=models.Value([], models.JSONField()),
    )
    is_bot = models.BooleanField(_("a program"), default=False, db_default=False)
    is_discoverable = models.BooleanField(_("may be suggested"), default=True, db_default=True)
    is_indexable = models.BooleanField(
        _("public posts may appear in search results"), default=True, db_default=True
    )
    post_visibility = models.CharField(
        _("visibility of new posts"),
        max_length=9,
        choices=PostVisibility.choices,
        default=PostVisibility.PUBLIC,
        db_default=PostVisibility.PUBLIC,
    )
    post_sensitive = models.BooleanField(_("posts are sensitive"), default=False, db_default=False)
    post_language = models.CharField(
        _("language of posts"), max_length=10, blank=True, db_default=""
    )
    quote_policy = models.CharField(
        _("who may quote posts"),
        max_length=9,
        choices=QuotePolicy.choices,
        default=QuotePolicy.PUBLIC,
        db_default=QuotePolicy.PUBLIC,
    )
    is_locked = models.BooleanField(_("approves followers"), default=False, db_default=False)
    interface_language = models.CharField(_("language"), max_length=10, blank=True)
    theme = models.CharField(_("theme"), max_length=5, choices=Theme.choices, default=Theme.AUTO)
    text_size = models.CharField(
        _("text size"), max_length=6, choices=TextSize.choices, default=TextSize.NORMAL
    )
    keys = models.CharField(
        _("keyboard shortcuts"),
        max_length=8,
        choices=Keys.choices,
        default=Keys.ON,
        db_default=Keys.ON,
    )
    asks_for_alt = models.BooleanField(
        _("is reminded of missing picture descriptions"), default=True, db_default=True
    )
    density = models.CharField(
        _("density"),
        max_length=11,
        choices=Density.choices,
        default=Density.COMFORTABLE,
        db_default=Density.COMFORTABLE,
    )
    loads_by_button = models.BooleanField(
        _("loads more posts with a button"), default=False, db_default=False
    )
    hides_read = models.BooleanField(_("hides read posts on home"), default=False, db_default=False)
    hides_replies = models.BooleanField(
        _("hides replies to strangers on home"), default=False, db_default=False
    )
    groups_reposts = models.BooleanField(
        _("sees reposts of the same post as one"), default=True, db_default=True
    )
    plays_loops = models.BooleanField(
        _("plays short videos without sound"), default=True, db_default=True
    )
    # "notifications", "list-12" for the list with the id 12, or empty
    second_column = models.CharField(
        _("second column of home"), max_length=30, blank=True, default="", db_default=""
    )
    hides_activity = models.BooleanField(
        _("is kept out of activity pages"), default=False, db_default=False
    )
    sends_on_enter = models.BooleanField(_("Enter sends a message"), default=True, db_default=True)
    tells_seen = models.BooleanField(
        _("shares read receipts of messages"), default=True, db_default=True
    )
    is_staff = models.BooleanField(_("staff"), default=False)
    is_active = models.BooleanField(_("active"), default=True)
    suspended_at = models.DateTimeField(_("suspended at"), null=True, blank=True)
    # when staff limited the account; while it is set, timelines and search show its posts to followers only
    limited_at = models.DateTimeField(_("limited at"), null=True, blank=True, editable=False)
    suspension_reason = models.TextField(_("reason for the suspension"), blank=True)
    erased_at = models.DateTimeField(_("deleted by its owner"), null=True, blank=True)
    created_at = models.DateTimeField(_("joined"), default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()
    # Values that pages computed from the cached account, shared by all requests of the process.
    derived: dict[Any, Any] | None = None
    shown_counts: tuple[int, ...] = ()  # of a cached account: the same numbers as in `counts`
    has_new_password = False  # True from `set_password` until the account is saved
    session_hash = ""  # set for a cached account, whose password is not cached
    # Set for a cached account behind a request. Each load sets a new random text, so that tokens and sessions that were
    # cached with an old epoch are read again.
    epoch = ""
    USERNAME_FIELD = "handle"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name, verbose_name_plural = _("user"), _("users")
        permissions = [
            ("rescue_user", "Can mail links to new passwords, give addresses, reset second factors")
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(handle__regex=rf"^{HANDLE_PATTERN}$"), name="user_handle_form"
            ),
            models.CheckConstraint(
                condition=models.Q(id__lte=MAX_AUTHOR_ID), name="user_id_fits_post_ids"
            ),
        ]
        indexes = [  # used whenever a file is served, to find its owner
            models.Index(fields=["avatar"], name="user_avatar"),
            models.Index(fields=["header"], name="user_header"),
        ]

    def __str__(self) -> str:
        return f"@{self.handle}"

    def get_session_auth_hash(self) -> str:
        return self.session_hash or super().get_session_auth_hash()

    def set_password(self, raw_password: str | None) -> None:
        super().set_password(raw_password)
        self.has_new_password, self.session_hash = True, ""

    def set_unusable_password(self) -> None:
        super().set_unusable_password()
        self.has_new_password, self.session_hash = True, ""

    def check_password(self, raw_password: str | None) -> bool:
        """Check a password; if its hash is outdated, store a new hash without revoking access."""

        def rehash(right: str) -> None:
            self.password = make_password(right)
            self.save(update_fields=["password"])

        return check_password(raw_password, self.password, rehash)

    def save(self, **options: Any) -> None:
        """Save. A new password also revokes all access that the old one granted, in the same transaction."""
        fields = options.get("update_fields")
        writes_password = self.has_new_password and (fields is None or "password" in fields)
        if not writes_password or self._state.adding:
            super().save(**options)
        else:
            with transaction.atomic():
                super().save(**options)
                access_revoked.send(User, user_id=self.pk)
        if writes_password:
            self.has_new_password = False

    @property
    def name(self) -> str:
        """The display name; the handle if it is empty."""
        return self.display_name or self.handle

    @property
    def url(self) -> str:
        return f"/@{self.handle}"

    @property
    def avatar_url(self) -> str:
        """The path of the avatar; empty if there is none, in which case one is generated from the handle."""
        return path_of(self.avatar.name) if self.avatar.name else ""

    @property
    def header_url(self) -> str:
        """The path of the header; empty if there is none, in which case one is generated from the handle."""
        return path_of(self.header.name) if self.header.name else ""

    @property
    def is_suspended(self) -> bool:
        """Whether the account and its posts are hidden, because staff suspended it or its owner deleted it."""
        return self.suspended_at is not None


class UserCounts(models.Model):
    """The counts of a user. A transaction that inserts or deletes counted rows locks this row first, and updates it.

    `posts` and `last_open_post_id` cover open posts only, so everybody may see them. `last_post_id` keeps the author's
    ids in order when a clock is set back. A cache entry contains the revision that it was built from; if the current
    revision is newer, the entry counts as a miss.
    """

    # PostgreSQL's Unix time when the row was locked (`posts.store`).
    locked_at = 0.0

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="counts")
    followers = models.PositiveIntegerField(_("followers"), default=0)
    following = models.PositiveIntegerField(_("following"), default=0)
    posts = models.PositiveIntegerField(_("posts"), default=0)
    last_post_id = models.BigIntegerField(default=0)
    last_open_post_id = models.BigIntegerField(default=0, db_default=0)
    # whether the user has ever written a restricted post; True, to be safe, for accounts older than this column
    wrote_restricted = models.BooleanField(default=False, db_default=True)
    # Counts the changes of `followers`, `following` and `posts`.
    revision = models.PositiveIntegerField(default=0, db_default=0)
    # Counts the changes of the user's follows, hidden reposts and mutes, and of blocks by and of the user.
    graph_revision = models.PositiveIntegerField(default=0, db_default=0)
    # Counts the changes of the user's followers.
    followers_revision = models.PositiveIntegerField(default=0, db_default=0)
    # Counts the changes of the ids and contents of the user's open posts.
    outbox_revision = models.PositiveIntegerField(default=0, db_default=0)
    # All further columns are loaded with the user. If a count is 0 or a flag False, the query for its rows is skipped.
    # `filters_revision` counts the changes of the user's filters.
    followed_tags = models.PositiveIntegerField(default=0, db_default=0)
    exclusive_lists = models.PositiveIntegerField(default=0, db_default=0)
    filters = models.PositiveIntegerField(default=0, db_default=0)
    filters_revision = models.PositiveIntegerField(default=0, db_default=0)
    pinned_feeds = models.PositiveIntegerField(default=0, db_default=0)
    # whether some of the user's notifications are held back, or the user's policy can hold some back
    holds_notifications = models.BooleanField(default=False, db_default=False)
    # the number of follows with a language filter
    choosy_follows = models.PositiveIntegerField(default=0, db_default=0)
    # whether the user has ever owned or joined a circle; True, to be safe, for accounts older than this column
    knows_circles = models.BooleanField(default=False, db_default=True)

    class Meta:
        verbose_name = verbose_name_plural = _("user counts")
        indexes = [models.Index(fields=["-followers", "user"], name="counts_most_followed")]

    def __str__(self) -> str:
        return f"{self.followers} / {self.following} / {self.posts}"

    def refresh_from_db(
        self,
        using: str | None = None,
        fields: Iterable[str] | None = None,
        from_queryset: models.QuerySet["UserCounts"] | None = None,
    ) -> None:
        """When a deferred field is first read, load all deferred fields in one query."""
        deferred = self.get_deferred_fields()
        if fields is not None and deferred.issuperset(fields := list(fields)):
            fields = deferred
        super().refresh_from_db(using, fields, from_queryset)


class AccessToken(models.Model):
    """An API bearer token; only its digest is stored."""

    user = models.ForeignKey(User, models.CASCADE, related_name="access_tokens")
    digest = models.CharField(max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=60)
    scopes = models.TextField(_("scopes"), default=scopes.ALL, db_default=scopes.ALL)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("access token"), _("access tokens")

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def digest_of(token: str) -> str:
        """The stored digest of a token. Tokens are long and random, so a plain hash is enough."""
        return hashlib.sha256(token.encode()).hexdigest()


class Login(models.Model):
    """A user's login, for the list of sessions. The session itself is Django's."""

    user = models.ForeignKey(User, models.CASCADE, related_name="logins")
    session_key = models.CharField(max_length=40, unique=True)
    device = models.CharField(_("device"), max_length=60)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("login"), _("logins")

    def __str__(self) -> str:
        return self.device


class FormerHandle(models.Model):
    """The handle of a deleted account, which stays taken. The stored keyed digest does not reveal the handle.

    If SECRET_KEY changes, the handles become free, unless the old key stays in SECRET_KEY_FALLBACKS.
    """

    digest = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return self.digest

    @staticmethod
    def digests_of(handle: str) -> list[str]:
        """The digests of a handle under the current and the earlier keys."""
        return [
            salted_hmac(
                "apps.accounts.FormerHandle", handle, secret=secret, algorithm="sha256"
            ).hexdigest()
            for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        ]


class MailKind(models.TextChoices):
    CONFIRM_EMAIL = "confirm_email", _("confirm an address")
    EMAIL_CHANGED = "email_changed", _("another address was given")
    EMAIL_BY_STAFF = "email_by_staff", _("another address was given by staff")
    PASSWORD_RESET = "password_reset", _("a new password")
    SECOND_FACTOR_RESET = "factor_reset", _("the second factor was reset")


class Mail(SlowRow):
    """An e-mail to be sent. It contains no link and no token: the worker makes them when it sends the e-mail.

    `address` is the recipient. It is empty for the confirmation of an address, which is sent to the pending address of
    `user`. E-mails for a new password have no `user`: the worker finds the account by the address.
    """

    kind = models.CharField(_("kind"), max_length=20, choices=MailKind.choices)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    address = models.EmailField(blank=True)
    language = models.CharField(max_length=10, blank=True)
    retry_after = timedelta(minutes=1)

    class Meta:
        verbose_name, verbose_name_plural = _("e-mail message"), _("e-mail messages")
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=models.Q(state=State.PENDING), name="mail_due"
            )
        ]

    def __str__(self) -> str:
        return f"mail {self.pk} ({self.kind})"
