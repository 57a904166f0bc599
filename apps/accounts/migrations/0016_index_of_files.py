from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Beside the writers."""

    atomic = False

    dependencies = [
        ('accounts', '0015_open_posts'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(fields=['avatar'], name='user_avatar'),
        ),
        AddIndexConcurrently(
            model_name='user',
            index=models.Index(fields=['header'], name='user_header'),
        ),
    ]
