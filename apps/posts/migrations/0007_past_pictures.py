from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # builds the index concurrently, so that pictures can be uploaded meanwhile

    dependencies = [
        ('posts', '0006_read_restricted_post'),
    ]

    operations = [
        migrations.AddField(
            model_name='attachment',
            name='past_post_id',
            field=models.BigIntegerField(editable=False, null=True),
        ),
        AddIndexConcurrently(
            model_name='attachment',
            index=models.Index(condition=models.Q(('past_post_id', None), _negated=True), fields=['past_post_id'], name='attachment_past'),
        ),
    ]
