from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Beside the writers."""

    atomic = False

    dependencies = [
        ('posts', '0008_fingerprints'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='idempotencykey',
            index=models.Index(condition=models.Q(('scheduled', None), _negated=True), fields=['scheduled'], name='idempotency_scheduled'),
        ),
    ]
