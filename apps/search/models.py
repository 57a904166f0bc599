"""The search index and trends (which can be rebuilt from posts and accounts), starter packs, dismissed suggestions."""

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class WordsField(models.Field):  # type: ignore[type-arg]  # it takes no parameter at run time
    """A `tsvector`; only PostgreSQL reads and writes its values."""

    def db_type(self, connection: object) -> str:
        return "tsvector"


class PostEntry(models.Model):
    """The words of a post. Everybody can find public posts; authors can find all their own posts."""

    post_id = models.BigIntegerField(primary_key=True)
    author_id = models.BigIntegerField()
    is_public = models.BooleanField()
    words = WordsField()

    class Meta:
        indexes = [
            GinIndex(fields=["words"], name="search_post_words"),
            models.Index(fields=["author_id", "-post_id"], name="search_post_author"),
        ]

    def __str__(self) -> str:
        return str(self.post_id)


class PersonEntry(models.Model):
    """The words of an account's display name and handle."""

    user_id = models.BigIntegerField(primary_key=True)
    words = WordsField()

    class Meta:
        indexes = [GinIndex(fields=["words"], name="search_person_words")]

    def __str__(self) -> str:
        return str(self.user_id)


class TrendingPost(models.Model):
    """A public post that many people currently like and repost. A task rewrites the table every few minutes."""

    post_id = models.BigIntegerField(primary_key=True)
    score = models.FloatField()

    class Meta:
        verbose_name, verbose_name_plural = _("trending post"), _("trending posts")
        indexes = [models.Index(fields=["-score", "-post_id"], name="search_trending")]

    def __str__(self) -> str:
        return f"{self.post_id}: {self.score:.2f}"


class IndexWalk(models.Model):
    """The progress of the scan of all posts, or of all people."""

    class Kind(models.TextChoices):
        POSTS = "posts", _("Posts")
        PEOPLE = "people", _("People")

    kind = models.CharField(_("kind"), max_length=6, choices=Kind, default=Kind.POSTS, unique=True)
    version = models.PositiveSmallIntegerField(default=0)  # the `indexing.VERSION` of the scan
    after = models.BigIntegerField(_("up to number"), default=0)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = verbose_name_plural = _("index progress")

    def __str__(self) -> str:
        return f"{self.kind} {self.version}: {self.after}"


class StarterPack(models.Model):
    """A group of accounts that staff recommend to new members, who may follow all of them with one click."""

    title = models.CharField(_("title"), max_length=60)
    language = models.CharField(
        _("language"),
        max_length=10,
        help_text=_("The language of the title, and of most posts by these accounts."),
    )
    place = models.PositiveSmallIntegerField(
        _("place"), default=0, help_text=_("The lowest is shown first.")
    )
    is_active = models.BooleanField(_("active"), default=True)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, verbose_name=_("accounts"), related_name="+"
    )

    class Meta:
        verbose_name, verbose_name_plural = _("starter pack"), _("starter packs")

    def __str__(self) -> str:
        return self.title


class Dismissal(models.Model):
    """`owner` has dismissed the suggestion to follow `other`."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    other = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("owner", "other", name="dismissal_once")]

    def __str__(self) -> str:
        return f"{self.owner_id} - {self.other_id}"
