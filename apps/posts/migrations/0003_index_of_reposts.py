from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # builds the index concurrently, so that posts can be published meanwhile

    dependencies = [
        ('graph', '0001_initial'),
        ('posts', '0002_video_audio_friends'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), ('kind', 'repost')), fields=['author', '-id'], name='post_reposts'),
        ),
    ]
