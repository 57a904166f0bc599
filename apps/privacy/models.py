"""Archives that users request, files that they import, and accounts that are being erased. Each of these is a leased
row (`apps.events.leases`), so no work is lost if a message is lost.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.leases import LeasedRow, State


class Export(LeasedRow):
    """An archive of a user's data. `name` is the random name of the file in the private storage; a retry overwrites the
    file.

    `total` is counted at the start, and `done` is the progress; both count rows and pictures.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(max_length=80, unique=True)
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("of"), default=0)
    size = models.PositiveBigIntegerField(_("bytes"), default=0)
    expires_at = models.DateTimeField(_("kept until"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("archive"), _("archives")
        constraints = [
            models.UniqueConstraint(
                "user", condition=models.Q(state=State.PENDING), name="export_one_at_a_time"
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state=State.PENDING),
                name="export_due",
            ),
            models.Index(
                fields=["expires_at"],
                condition=~models.Q(expires_at=None),
                name="export_expiring",
            ),
        ]

    def __str__(self) -> str:
        return f"archive {self.pk} of {self.user_id}"

    def is_ready(self) -> bool:
        expires_at = self.expires_at
        return self.state == State.DONE and expires_at is not None and expires_at > timezone.now()


class Erasure(LeasedRow):
    """A deleted account that is being erased. `removed` counts the erased rows by kind."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    removed = models.JSONField(_("removed"), default=dict)

    class Meta:
        verbose_name, verbose_name_plural = _("erasure"), _("erasures")
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state=State.PENDING),
                name="erasure_due",
            )
        ]

    def __str__(self) -> str:
        return f"erasure of {self.user_id}"


class ImportKind(models.TextChoices):
    """The kind of list in an imported file."""

    FOLLOWS = "follows", _("Accounts you follow")
    BLOCKS = "blocks", _("Accounts you block")
    MUTES = "mutes", _("Accounts you mute")
    LISTS = "lists", _("Lists")
    BOOKMARKS = "bookmarks", _("Bookmarks")
    POSTS = "posts", _("Posts from an archive")


class Import(LeasedRow):
    """A file that a user imports; its lines are `ImportLine` rows. `is_undone` is set as soon as undoing begins.

    `file` is the file's name in the private storage; the file is kept while lines still need data from it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=9, choices=ImportKind.choices)
    name = models.CharField(_("file"), max_length=100)
    file = models.CharField(max_length=80, blank=True, default="", db_default="")
    is_undone = models.BooleanField(_("undone"), default=False)

    class Meta:
        verbose_name, verbose_name_plural = _("import"), _("imports")
        constraints = [
            models.UniqueConstraint(
                "user", condition=models.Q(state=State.PENDING), name="import_one_at_a_time"
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state=State.PENDING),
                name="import_due",
            ),
            models.Index(
                fields=["finished_at"],
                condition=~models.Q(finished_at=None),
                name="import_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.pk} of {self.user_id}"


class Outcome(models.TextChoices):
    """The outcome of a line of an imported file."""

    WAITING = "waiting", _("waiting")
    DONE = "done", _("done")
    SAME = "same", _("already there")
    REFUSED = "refused", _("not imported")
    UNDONE = "undone", _("undone")


class ImportLine(models.Model):
    """A line of an imported file. `cells` contains its cells or, for a post, the cells of `PostOfArchive`.

    `reason` explains, in the user's language, why the line was refused or which parts could not be imported. `trace`
    contains the data for undoing the line. `post` is the archive's data about a post, until the line is done.
    """

    job = models.ForeignKey(Import, models.CASCADE, related_name="lines", db_index=False)
    number = models.PositiveIntegerField(_("line"))
    cells = models.JSONField()
    post = models.JSONField(null=True)
    outcome = models.CharField(
        _("outcome"), max_length=7, choices=Outcome.choices, default=Outcome.WAITING
    )
    reason = models.TextField(_("reason"), blank=True)
    trace = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["job", "outcome", "number"], name="import_line")]

    def __str__(self) -> str:
        return ", ".join(filter(None, self.cells))
