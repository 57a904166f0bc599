from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # builds the index concurrently, so that posts can be published meanwhile

    dependencies = [
        ('posts', '0003_index_of_reposts'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), _negated=True), fields=['author', '-id'], name='post_tombstones'),
        ),
    ]
