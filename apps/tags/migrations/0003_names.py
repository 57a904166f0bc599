from django.db import migrations


class Migration(migrations.Migration):
    """The name of a table on the pages of staff; nothing in the database changes."""

    dependencies = [("tags", "0002_past_tag_follows")]

    operations = [
        migrations.AlterModelOptions(
            "tagday",
            {"verbose_name": "daily tag statistics", "verbose_name_plural": "daily tag statistics"},
        ),
    ]
