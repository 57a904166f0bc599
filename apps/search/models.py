"""What is searched: the words of posts and of people. Derived: all of it can be made again from posts and accounts."""

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class WordsField(models.Field):  # type: ignore[type-arg]  # it takes no parameter at run time
    """A column of words with their places, written and read by PostgreSQL only."""

    def db_type(self, connection: object) -> str:
        """PostgreSQL's own type for them."""
        return "tsvector"


class PostEntry(models.Model):
    """The words of a post. Others find it when it is public; its author always does."""

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
    """The words of an account's name and handle."""

    user_id = models.BigIntegerField(primary_key=True)
    words = WordsField()

    class Meta:
        indexes = [GinIndex(fields=["words"], name="search_person_words")]

    def __str__(self) -> str:
        return str(self.user_id)


class TrendingPost(models.Model):
    """A public post that many like and pass on now; the whole table is made anew every few minutes."""

    post_id = models.BigIntegerField(primary_key=True)
    score = models.FloatField()

    class Meta:
        verbose_name, verbose_name_plural = _("trending post"), _("trending posts")
        indexes = [models.Index(fields=["-score", "-post_id"], name="search_trending")]

    def __str__(self) -> str:
        return f"{self.post_id}: {self.score:.2f}"


class IndexWalk(models.Model):
    """How far the posts that were there before the index have been indexed; one row."""

    version = models.PositiveSmallIntegerField(default=0)  # of the form of the words
    after = models.BigIntegerField(_("up to post"), default=0)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = verbose_name_plural = _("walk of the index")

    def __str__(self) -> str:
        return f"{self.version}: {self.after}"


class Dismissal(models.Model):
    """`owner` does not want `other` to be suggested again."""

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
