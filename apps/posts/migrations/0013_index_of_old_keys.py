from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Beside the writers."""

    atomic = False

    dependencies = [
        ('posts', '0012_written_with'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='idempotencykey',
            index=models.Index(fields=['created_at'], name='idempotency_old'),
        ),
    ]
