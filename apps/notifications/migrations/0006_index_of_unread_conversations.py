from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # builds the index concurrently, so that messages can be sent meanwhile

    dependencies = [
        ("notifications", "0005_messages"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(
                    ("has_left", False), ("is_request", False), ("is_unread", True)
                ),
                fields=["user", "thread_id"],
                name="conversation_unread",
            ),
        ),
    ]
