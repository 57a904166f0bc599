from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Beside the writers: publishing goes on while the index is built."""

    atomic = False

    dependencies = [
        ('posts', '0006_revisions_and_pins'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), models.Q(('pinned_at', None), _negated=True)), fields=['author', '-pinned_at'], name='post_pinned'),
        ),
    ]
