"""Adds indexes of dead letters, because health checks and the auditor look for them in all deliveries."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


def dead(model: str) -> AddIndexConcurrently:
    index = models.Index(fields=["due_at"], condition=models.Q(state="dead"), name=f"{model}_dead")
    return AddIndexConcurrently(model_name=model, index=index)


class Migration(migrations.Migration):
    atomic = False  # builds the indexes concurrently, because the ledger may be large

    dependencies = [("timeline", "0009_first_read")]

    operations = [dead(model) for model in ("fanoutjob", "fanoutchunk", "backfill", "backfillchunk")]
