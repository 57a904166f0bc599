"""More of what happens; and the index of groups, made without a lock that anybody would notice."""

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('notifications', '0002_read_markers'),
        ('posts', '0005_outbox_of_vectors'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=[('follow', 'follow'), ('like', 'like'), ('repost', 'repost'), ('reply', 'reply'), ('mention', 'mention'), ('quote', 'quote'), ('request', 'follow request'), ('post', 'new post'), ('edit', 'edit'), ('poll', 'end of a poll')], max_length=8, verbose_name='kind'),
        ),
        AddIndexConcurrently(
            model_name='notification',
            index=models.Index(fields=['user', 'kind', 'post', 'created_at'], name='notification_group'),
        ),
    ]
