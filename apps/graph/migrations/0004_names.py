from django.db import migrations


class Migration(migrations.Migration):
    """Changes the name of a table in the admin; nothing in the database changes."""

    dependencies = [("graph", "0003_pending_follow")]

    operations = [
        migrations.AlterModelOptions(
            "graphimport",
            {"verbose_name": "edge list import", "verbose_name_plural": "edge list imports"},
        ),
    ]
