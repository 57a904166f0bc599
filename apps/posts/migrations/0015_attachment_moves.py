from django.db import migrations, models


class Migration(migrations.Migration):
    """A constant default: the table is not rewritten."""

    dependencies = [("posts", "0014_quotes")]

    operations = [
        migrations.AddField(
            "attachment",
            "moves",
            models.BooleanField("moving", db_default=False, default=False, editable=False),
        ),
    ]
