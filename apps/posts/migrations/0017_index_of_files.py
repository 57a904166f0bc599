from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Beside the writers."""

    atomic = False

    dependencies = [
        ('posts', '0016_count_open_posts'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='attachment',
            index=models.Index(fields=['file'], name='attachment_file'),
        ),
        AddIndexConcurrently(
            model_name='attachment',
            index=models.Index(fields=['preview'], name='attachment_preview'),
        ),
    ]
