"""The weekly activity of the site, and the ids up to which its posts and accounts have been counted."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Week(models.Model):
    """The activity in a week, which begins on Monday at midnight UTC. The numbers do not fall when posts or accounts
    are deleted later.
    """

    first_day = models.DateField(primary_key=True)
    statuses = models.PositiveBigIntegerField(db_default=0)  # without reposts
    logins = models.PositiveBigIntegerField(db_default=0)
    registrations = models.PositiveBigIntegerField(db_default=0)

    class Meta:
        verbose_name, verbose_name_plural = _("weekly statistics"), _("weekly statistics")

    def __str__(self) -> str:
        return str(self.first_day)


class Progress(models.Model):
    """A single row: posts up to `post_id` and accounts up to `account_id` have been counted."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    post_id = models.BigIntegerField()
    account_id = models.BigIntegerField(db_default=0)

    def __str__(self) -> str:
        return f"{self.post_id}, {self.account_id}"
