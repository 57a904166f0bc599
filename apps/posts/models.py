"""Posts, their counts, mentions, revisions, polls and attachments; muted threads; schedules."""

from typing import NamedTuple

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import QuotePolicy
from apps.events.leases import LeasedRow, State
from apps.graph.models import Circle
from apps.posts.keys import AuthorOfPost, OnePostKey, PostId, PostKey


class Kind(models.TextChoices):
    """The kind of a post. Source 003 (docs/sources.md) calls it the verb of an activity."""

    TEXT = "text", _("text")
    PICTURE = "picture", _("picture")
    VIDEO = "video", _("video")
    REPOST = "repost", _("repost")
    QUOTE = "quote", _("quote")
    AUDIO = "audio", _("audio")


class Visibility(models.TextChoices):
    """The audience of a post (`posts.visibility`). The first two are open; the others are checked at each read."""

    PUBLIC = "public", _("Public")
    UNLISTED = "unlisted", _("Quiet public")
    FOLLOWERS = "followers", _("Followers")
    FRIENDS = "friends", _("Friends")  # followers whom the author follows as well
    MENTIONED = "mentioned", _("Mentioned people")
    CIRCLE = "circle", _("A circle")


OPEN = (Visibility.PUBLIC, Visibility.UNLISTED)
RESTRICTED = tuple(visibility for visibility in Visibility if visibility not in OPEN)


class Post(models.Model):
    """A post. A repost is a post without a body; its source is the reposted post.

    The id contains the second, the author and a sequence number (`feedcache.ids`). `version` grows with every change;
    cache entries that are older than the row are rejected. The row of a deleted post stays as a tombstone.
    """

    id = PostId(primary_key=True, editable=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices, default=Kind.TEXT)
    body = models.TextField(_("text"), blank=True)
    content_warning = models.CharField(_("content warning"), max_length=200, blank=True)
    sensitive = models.BooleanField(_("sensitive"), default=False, db_default=False)
    has_poll = models.BooleanField(_("poll"), default=False, db_default=False, editable=False)
    language = models.CharField(_("language"), max_length=10, blank=True)
    visibility = models.CharField(
        _("visibility"), max_length=9, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    quote_policy = models.CharField(
        _("who may quote it"),
        max_length=9,
        choices=QuotePolicy.choices,
        default=QuotePolicy.PUBLIC,
        db_default=QuotePolicy.PUBLIC.value,
    )
    circle = models.ForeignKey(
        Circle, models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    source = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, blank=True, related_name="+", db_index=False
    )
    reply_to = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, blank=True, related_name="+", db_index=False
    )
    # the id of the thread's first post
    thread_id = models.BigIntegerField(_("thread"), db_index=False)
    application = models.CharField(
        _("application"), max_length=60, blank=True, default="", db_default=""
    )
    website = models.CharField(
        _("its website"), max_length=200, blank=True, default="", db_default=""
    )
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    edited_at = models.DateTimeField(_("edited at"), null=True, blank=True)
    pinned_at = models.DateTimeField(_("pinned at"), null=True, blank=True)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)
    # set by staff: only the author sees the post
    hidden_at = models.DateTimeField(_("hidden at"), null=True, blank=True, editable=False)
    # set by staff: the author cannot remove the mark
    is_marked_sensitive = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("post"), _("posts")
        permissions = [("read_restricted_post", "Can read posts that are not for everybody")]
        constraints = [
            models.UniqueConstraint(
                "author",
                "source",
                condition=models.Q(kind=Kind.REPOST, deleted_at=None),
                name="repost_once",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=[Kind.REPOST, Kind.QUOTE]) | models.Q(source=None),
                name="source_of_repost_or_quote",
            ),
            models.CheckConstraint(
                condition=models.Q(visibility=Visibility.CIRCLE) ^ models.Q(circle=None),
                name="circle_of_circle_post",
            ),
        ]
        indexes = [
            # an author's outbox, newest first; index-only, even when a whole cached list of ids is rebuilt
            models.Index(
                fields=["author", "-id"],
                include=["visibility", "kind", "reply_to"],
                condition=models.Q(deleted_at=None),
                name="post_outbox",
            ),
            models.Index(
                fields=["-id"],
                condition=models.Q(deleted_at=None, visibility=Visibility.PUBLIC),
                name="post_public",
            ),
            # restricted posts of an author; few authors have many, so a scan is short
            models.Index(
                fields=["author", "-id"],
                include=["visibility"],
                condition=models.Q(deleted_at=None, visibility__in=RESTRICTED),
                name="post_restricted",
            ),
            models.Index(
                fields=["circle", "-id"],
                include=["author"],
                condition=models.Q(deleted_at=None) & ~models.Q(circle=None),
                name="post_circle",
            ),
            # an author's reposts, for the aggregate feed
            models.Index(
                fields=["author", "-id"],
                condition=models.Q(deleted_at=None, kind=Kind.REPOST),
                name="post_reposts",
            ),
            # deleted posts, which are few; counted when an earlier home page is reconstructed
            models.Index(
                fields=["author", "-id"],
                condition=~models.Q(deleted_at=None),
                name="post_tombstones",
            ),
            models.Index(fields=["thread_id", "id"], name="post_thread"),
            models.Index(
                fields=["source", "id"], condition=~models.Q(source=None), name="post_source"
            ),
            models.Index(
                fields=["author", "-pinned_at"],
                condition=models.Q(deleted_at=None) & ~models.Q(pinned_at=None),
                name="post_pinned",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def is_restricted(self) -> bool:
        return self.visibility not in OPEN

    @property
    def is_hidden(self) -> bool:
        return self.hidden_at is not None

    @property
    def has_public_tags(self) -> bool:
        """Whether the post is on the pages of its tags and included in the counts of their uses."""
        return self.visibility == Visibility.PUBLIC and not self.is_hidden


class PostCounts(models.Model):
    """The counts of a post. All but `reads` are updated in the transaction that writes the counted row.

    Only open replies and quotes are counted, because the numbers must not reveal restricted ones.
    """

    post = OnePostKey(Post, models.CASCADE, primary_key=True, related_name="counts")
    author_id = AuthorOfPost()
    replies = models.PositiveIntegerField(_("replies"), default=0)
    reposts = models.PositiveIntegerField(_("reposts"), default=0)
    likes = models.PositiveIntegerField(_("likes"), default=0)
    bookmarks = models.PositiveIntegerField(_("bookmarks"), default=0)
    reads = models.PositiveBigIntegerField(_("reads"), default=0, db_default=0)
    quotes = models.PositiveIntegerField(_("quotes"), default=0, db_default=0)
    # one count for each reaction
    thumbs = models.PositiveIntegerField(default=0, db_default=0)
    hearts = models.PositiveIntegerField(default=0, db_default=0)
    laughs = models.PositiveIntegerField(default=0, db_default=0)
    wows = models.PositiveIntegerField(default=0, db_default=0)
    tears = models.PositiveIntegerField(default=0, db_default=0)
    cheers = models.PositiveIntegerField(default=0, db_default=0)
    revision = models.PositiveIntegerField(default=0, db_default=0)  # of all counts but `reads`

    class Meta:
        verbose_name = verbose_name_plural = _("post counts")

    def __str__(self) -> str:
        return f"{self.replies} / {self.reposts} / {self.likes}"


class Counts(NamedTuple):
    """The columns of `PostCounts` for pages, in the order in which Redis stores them: add new columns at the end."""

    replies: int = 0
    reposts: int = 0
    likes: int = 0
    bookmarks: int = 0
    reads: int = 0
    quotes: int = 0
    thumbs: int = 0
    hearts: int = 0
    laughs: int = 0
    wows: int = 0
    tears: int = 0
    cheers: int = 0


class Mention(models.Model):
    """A mention of a user in a post. Posts for followers or mentioned people are visible to those they mention."""

    post = PostKey(Post, models.CASCADE, related_name="mentions", db_index=False)
    author_id = AuthorOfPost()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )

    class Meta:
        verbose_name, verbose_name_plural = _("mention"), _("mentions")
        constraints = [models.UniqueConstraint("post", "user", name="mention_once")]
        indexes = [models.Index(fields=["user", "-post"], name="mention_list")]

    def __str__(self) -> str:
        return f"{self.post_id} @ {self.user_id}"


class Revision(models.Model):
    """A post as it was before an edit. It is deleted with the post, because a tombstone has no text.

    `pictures` contains `[id, description]` for each picture, in order. If a later edit removed a picture, its
    attachment has a `past_post_id`.
    """

    post = PostKey(Post, models.CASCADE, related_name="revisions", db_index=False)
    author_id = AuthorOfPost()
    version = models.PositiveIntegerField(_("version"))
    body = models.TextField(_("text"), blank=True)
    content_warning = models.CharField(_("content warning"), max_length=200, blank=True)
    sensitive = models.BooleanField(_("sensitive"), default=False)
    pictures = models.JSONField(_("pictures"), default=list)
    created_at = models.DateTimeField(_("since"))

    class Meta:
        verbose_name, verbose_name_plural = _("revision"), _("revisions")
        constraints = [models.UniqueConstraint("post", "version", name="revision_once")]

    def __str__(self) -> str:
        return f"{self.post_id} v{self.version}"


class ThreadMute(models.Model):
    """`user` no longer gets notifications about a thread."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    thread_id = models.BigIntegerField(_("thread"))

    class Meta:
        verbose_name, verbose_name_plural = _("muted thread"), _("muted threads")
        constraints = [models.UniqueConstraint("user", "thread_id", name="thread_mute_once")]

    def __str__(self) -> str:
        return f"{self.user_id} mutes {self.thread_id}"


class IdempotencyKey(models.Model):
    """A finished publish request; repeating the key returns its result."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    key = models.CharField(max_length=200)
    # a hash of the request; empty for keys older than this column
    fingerprint = models.CharField(max_length=32, default="", db_default="")
    post = models.ForeignKey(Post, models.CASCADE, null=True, related_name="+", db_index=False)
    scheduled = models.ForeignKey(
        "ScheduledPost", models.CASCADE, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("user", "key", name="idempotency_key_once")]
        indexes = [
            models.Index(
                fields=["scheduled"],
                condition=~models.Q(scheduled=None),
                name="idempotency_scheduled",
            ),
            models.Index(fields=["created_at"], name="idempotency_old"),
        ]

    def __str__(self) -> str:
        return self.key


class ScheduledPost(LeasedRow):
    """A post to be published later. Workers take the row when it is due; no delayed Celery message is used.

    `scheduled_at` is the time that the author chose. `due_at` is the same at first, but leases and retries move it.
    `post` is the published post.
    """

    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    scheduled_at = models.DateTimeField(_("scheduled for"))
    draft = models.JSONField(_("draft"))
    post = models.ForeignKey(Post, models.SET_NULL, null=True, related_name="+", db_index=False)
    is_scheduled_by_people = True

    class Meta:
        verbose_name, verbose_name_plural = _("scheduled post"), _("scheduled posts")
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state=State.PENDING),
                name="scheduled_due",
            ),
            models.Index(fields=["author", "-id"], name="scheduled_list"),
        ]

    def __str__(self) -> str:
        return f"{self.author_id}: {self.scheduled_at:%Y-%m-%d %H:%M}"


class SavedDraft(models.Model):
    """An unfinished post: the fields of the composer as they are, which need not be valid yet."""

    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    fields = models.JSONField(_("draft"))
    media_ids = ArrayField(models.BigIntegerField(), default=list)
    updated_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("saved draft"), _("saved drafts")
        indexes = [models.Index(fields=["author", "-updated_at"], name="saved_draft_list")]

    def __str__(self) -> str:
        return f"{self.author_id}: {self.updated_at:%Y-%m-%d %H:%M}"


class Poll(models.Model):
    """The poll of a post, with the counts of its votes. A vote and the counts are written in one transaction."""

    post = OnePostKey(Post, models.CASCADE, primary_key=True, related_name="poll")
    author_id = AuthorOfPost()
    options = ArrayField(models.TextField(), verbose_name=_("options"))
    multiple = models.BooleanField(_("several choices"), default=False)
    hide_totals = models.BooleanField(_("hidden until the end"), default=False)
    expires_at = models.DateTimeField(_("ends"))
    votes = ArrayField(models.PositiveIntegerField(), verbose_name=_("votes"))  # of each option
    voters = models.PositiveIntegerField(_("voters"), default=0)
    is_ended = models.BooleanField(default=False)  # after `poll_ended`, or if the post was deleted

    class Meta:
        verbose_name, verbose_name_plural = _("poll"), _("polls")
        indexes = [
            models.Index(
                fields=["expires_at"], condition=models.Q(is_ended=False), name="poll_running"
            )
        ]

    def __str__(self) -> str:
        return " / ".join(self.options)


class Medium(models.TextChoices):
    """The medium of an attachment."""

    IMAGE = "image", _("picture")
    VIDEO = "video", _("video")
    AUDIO = "audio", _("audio")


class MediaState(models.TextChoices):
    """Pictures are ready immediately; video and sound are ready when a worker has transcoded them."""

    PROCESSING = "processing", _("being prepared")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")


class Attachment(models.Model):
    """A picture, video or sound of a post, or an upload that is not yet part of one.

    An upload has no post until its owner publishes it; `scheduled` or `draft` is set while a scheduled post or a saved
    draft uses it. `preview` is smaller and never animated; both files have random names. `moves` is true for animated
    pictures and for videos that play in a loop. `focus_x` and `focus_y` are the point that crops keep, from -1 (left,
    bottom) to 1. Width and height keep a page from shifting while it loads. An attachment removed by an edit has no
    post, but a `past_post_id`: the history of that post shows it, and it is deleted with the post.

    The `preview` of a video is a frame, and `captions` is a WebVTT file. Video and sound have no `file` before a worker
    has transcoded them; if transcoding failed, `error` is the reason (`apps.media.video.explained`).
    """

    post = PostKey(
        Post, models.CASCADE, null=True, blank=True, related_name="attachments", db_index=False
    )
    author_id = AuthorOfPost()  # the author of the post; for an upload without a post, its owner
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    scheduled = models.ForeignKey(
        ScheduledPost,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="attachments",
        db_index=False,
    )
    draft = models.ForeignKey(
        SavedDraft, models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    past_post_id = models.BigIntegerField(null=True, editable=False)
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    medium = models.CharField(
        _("medium"),
        max_length=5,
        choices=Medium.choices,
        default=Medium.IMAGE,
        db_default=Medium.IMAGE.value,
    )
    state = models.CharField(
        _("state"),
        max_length=10,
        choices=MediaState.choices,
        default=MediaState.READY,
        db_default=MediaState.READY.value,
    )
    error = models.CharField(_("error"), max_length=20, blank=True, default="", db_default="")
    file = models.FileField(_("file"), upload_to="pictures/")
    preview = models.FileField(_("preview"), upload_to="pictures/", blank=True, db_default="")
    width = models.PositiveIntegerField(_("width"), editable=False)
    height = models.PositiveIntegerField(_("height"), editable=False)
    alt = models.TextField(_("description"), max_length=10_000, blank=True)
    blurhash = models.CharField(_("blurred"), max_length=40, blank=True, db_default="")
    moves = models.BooleanField(_("moving"), default=False, db_default=False, editable=False)
    # 0 for pictures
    duration_ms = models.PositiveIntegerField(_("milliseconds"), default=0, db_default=0)
    size = models.PositiveBigIntegerField(_("bytes"), default=0, db_default=0)
    captions = models.FileField(_("captions"), upload_to="pictures/", blank=True, db_default="")
    focus_x = models.FloatField(default=0, db_default=0)
    focus_y = models.FloatField(default=0, db_default=0)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("attachment"), _("attachments")
        # does not apply to uploads, whose post is NULL
        constraints = [models.UniqueConstraint("post", "position", name="attachment_position")]
        indexes = [
            # whenever a file is served, its row is looked up (`attachments.is_served`)
            models.Index(fields=["file"], name="attachment_file"),
            models.Index(fields=["preview"], name="attachment_preview"),
            models.Index(
                fields=["captions"], condition=~models.Q(captions=""), name="attachment_captions"
            ),
            models.Index(
                fields=["created_at"], condition=models.Q(post=None), name="attachment_waiting"
            ),
            models.Index(
                fields=["scheduled"],
                condition=~models.Q(scheduled=None),
                name="attachment_scheduled",
            ),
            models.Index(
                fields=["draft"], condition=~models.Q(draft=None), name="attachment_draft"
            ),
            models.Index(
                fields=["past_post_id"],
                condition=~models.Q(past_post_id=None),
                name="attachment_past",
            ),
        ]

    def __str__(self) -> str:
        return self.alt or str(self.file)


class Transcode(LeasedRow):
    """An upload to transcode; `source` is its file in the private storage. The row is deleted after the transcoding."""

    attachment = models.OneToOneField(Attachment, models.CASCADE, related_name="+")
    source = models.CharField(max_length=80)

    class Meta:
        verbose_name, verbose_name_plural = _("transcoding"), _("transcodings")
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state=State.PENDING),
                name="transcode_due",
            )
        ]

    def __str__(self) -> str:
        return f"transcoding of {self.attachment_id}"
