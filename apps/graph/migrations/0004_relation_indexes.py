"""Indexes of tables that are full already: without a lock that anybody would notice."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('graph', '0003_relations_complete'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='block',
            index=models.Index(fields=['owner', '-id'], name='block_list'),
        ),
        AddIndexConcurrently(
            model_name='followee',
            index=models.Index(condition=models.Q(('shows_reposts', False)), fields=['owner', 'followee'], name='followee_hidden_reposts'),
        ),
        AddIndexConcurrently(
            model_name='follower',
            index=models.Index(condition=models.Q(('notifies', True)), fields=['owner', 'id'], include=('follower',), name='follower_told'),
        ),
        AddIndexConcurrently(
            model_name='mute',
            index=models.Index(fields=['owner', '-id'], name='mute_list'),
        ),
        AddIndexConcurrently(
            model_name='mute',
            index=models.Index(condition=models.Q(('expires_at', None), _negated=True), fields=['expires_at'], name='mute_due'),
        ),
    ]
