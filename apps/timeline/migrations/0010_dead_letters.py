"""Health and the auditor look for dead letters all the time: they need not read every delivery that there was."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


def dead(model: str) -> AddIndexConcurrently:
    index = models.Index(fields=["due_at"], condition=models.Q(state="dead"), name=f"{model}_dead")
    return AddIndexConcurrently(model_name=model, index=index)


class Migration(migrations.Migration):
    atomic = False  # the ledger may be large

    dependencies = [("timeline", "0009_first_read")]

    operations = [dead(model) for model in ("fanoutjob", "fanoutchunk", "backfill", "backfillchunk")]
