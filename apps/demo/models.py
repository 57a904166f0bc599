"""Which demo data has been made, so that making it again changes nothing."""

from django.db import models
from django.utils import timezone


class SeedRun(models.Model):
    """One size of the demo, made in one transaction together with this row."""

    size = models.CharField(max_length=10, unique=True)
    seed = models.BigIntegerField()
    finished_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.size}, seed {self.seed}"
