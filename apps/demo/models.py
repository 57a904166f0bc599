"""Records which sizes of demo data exist, so that seeding twice changes nothing."""

from django.db import models
from django.utils import timezone


class SeedRun(models.Model):
    """A size of the demo that exists. Its row is inserted in the transaction that makes the size."""

    size = models.CharField(max_length=10, unique=True)
    seed = models.BigIntegerField()
    finished_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.size}, seed {self.seed}"
