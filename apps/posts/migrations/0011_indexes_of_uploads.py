from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Beside the writers: publishing goes on while the indexes are built."""

    atomic = False

    dependencies = [
        ('posts', '0010_uploads_and_polls'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='attachment',
            index=models.Index(condition=models.Q(('post', None)), fields=['created_at'], name='attachment_waiting'),
        ),
        AddIndexConcurrently(
            model_name='attachment',
            index=models.Index(condition=models.Q(('scheduled', None), _negated=True), fields=['scheduled'], name='attachment_scheduled'),
        ),
    ]
