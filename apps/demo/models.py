"""The sizes of demo data that exist, so that seeding twice changes nothing."""

from django.db import models
from django.utils import timezone


class SeedRun(models.Model):
    """A size of the demo, written in the transaction that made it."""

    size = models.CharField(max_length=10, unique=True)
    seed = models.BigIntegerField()
    finished_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.size}, seed {self.seed}"
