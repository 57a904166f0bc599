from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # nobody has to wait with a post until the index is built

    dependencies = [
        ('posts', '0003_index_of_reposts'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), _negated=True), fields=['author', '-id'], name='post_tombstones'),
        ),
    ]
