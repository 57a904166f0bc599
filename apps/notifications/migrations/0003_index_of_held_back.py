from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # builds the index concurrently, so that notifications can be written meanwhile

    dependencies = [
        ("notifications", "0002_held_back"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("is_held_back", True)),
                fields=["user", "-id"],
                name="notification_held_back",
            ),
        ),
    ]
