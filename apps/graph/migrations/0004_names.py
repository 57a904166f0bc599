from django.db import migrations


class Migration(migrations.Migration):
    """Changes the name of a table in the admin; nothing in the database changes."""

    dependencies = [("graph", "0003_pending_follow")]

    operations = [
        migrations.AlterModelOptions(
            "graphimport",
            {"verbose_name": "import of an edge list", "verbose_name_plural": "imports of edge lists"},
        ),
    ]
