"""The journal of changes of follows on several servers is gone; `migrate` refuses databases that still use it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("graph", "0004_names")]

    operations = [
        # processes of 0.2.0 look into the table: a release after 0.3.0 drops it
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="PendingFollow")]
        )
    ]
