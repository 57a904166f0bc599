"""Likes, bookmarks, reactions and votes: unique rows. Their counts change in the same transaction."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.posts.models import Poll, Post


class Like(models.Model):
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    post = models.ForeignKey(Post, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("like"), _("likes")
        constraints = [models.UniqueConstraint("user", "post", name="like_once")]
        indexes = [
            models.Index(fields=["post", "-id"], name="like_list"),
            models.Index(fields=["user", "-id"], name="like_mine"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} likes {self.post_id}"


class Bookmark(models.Model):
    """A bookmark, which only `user` can see."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    post = models.ForeignKey(Post, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("bookmark"), _("bookmarks")
        constraints = [models.UniqueConstraint("user", "post", name="bookmark_once")]
        indexes = [
            models.Index(fields=["user", "-id"], name="bookmark_mine"),
            models.Index(fields=["post"], name="bookmark_list"),  # to count them by post
        ]

    def __str__(self) -> str:
        return f"{self.user_id} keeps {self.post_id}"


class ReactionName(models.TextChoices):
    """The possible reactions; each value is the name of the column that counts it."""

    THUMBS = "thumbs", "👍"
    HEARTS = "hearts", "❤️"
    LAUGHS = "laughs", "😂"
    WOWS = "wows", "😮"
    TEARS = "tears", "😢"
    CHEERS = "cheers", "🎉"


class Reaction(models.Model):
    """A reader's emoji under a post, at most one; the reader may also like the post."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    # no constraint: posts may be on several servers, and a foreign key cannot refer to a row on another server
    post = models.ForeignKey(
        Post, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    name = models.CharField(_("reaction"), max_length=6, choices=ReactionName.choices)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("reaction"), _("reactions")
        constraints = [models.UniqueConstraint("user", "post", name="react_once")]
        indexes = [models.Index(fields=["post"], name="react_list")]  # to count them by post

    def __str__(self) -> str:
        return f"{self.user_id} {self.get_name_display()} {self.post_id}"


class Vote(models.Model):
    """An option that `user` chose in a poll, by its number, starting at 0; one row for each chosen option."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    poll = models.ForeignKey(Poll, models.CASCADE, related_name="+", db_index=False)
    choice = models.PositiveSmallIntegerField(_("choice"))
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("vote"), _("votes")
        constraints = [models.UniqueConstraint("poll", "user", "choice", name="vote_once")]
        indexes = [models.Index(fields=["user"], name="vote_mine")]

    def __str__(self) -> str:
        return f"{self.user_id} chose {self.choice} of {self.poll_id}"
