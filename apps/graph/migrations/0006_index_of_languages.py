from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Beside the writers: follows go on while it is built."""

    atomic = False

    dependencies = [
        ('graph', '0005_endorsements_and_languages'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='followee',
            index=models.Index(condition=models.Q(('languages', []), _negated=True), fields=['owner'], name='followee_choosy'),
        ),
    ]
