from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # builds the index concurrently, so that pictures can be uploaded meanwhile

    dependencies = [
        ("posts", "0016_hidden_by_staff"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="attachment",
            index=models.Index(
                condition=models.Q(("draft", None), _negated=True),
                fields=["draft"],
                name="attachment_draft",
            ),
        ),
    ]
