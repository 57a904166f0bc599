import django.db.models.expressions
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # builds the index concurrently, so that posts can be published meanwhile

    dependencies = [
        ('tags', '0004_featured_tags'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='taguse',
            index=models.Index(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('post_id'), '>>', models.Value(4)), '&', models.Value(268435455)), models.F('tag'), models.F('post_id'), condition=models.Q(('is_public', True)), name='tag_use_author'),
        ),
    ]
