"""Records which sizes of demo data exist, so that seeding twice changes nothing."""

from django.db import models
from django.utils import timezone


class SeedRun(models.Model):
    """Records that the demo data of one size exist. The row is inserted in the same transaction as the data."""

    size = models.CharField(max_length=10, unique=True)
    seed = models.BigIntegerField()
    finished_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.size}, seed {self.seed}"
