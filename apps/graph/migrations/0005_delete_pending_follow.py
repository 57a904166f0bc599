"""The journal of changes of follows on several servers is gone; `migrate` refuses databases that still use it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("graph", "0004_names")]

    operations = [migrations.DeleteModel(name="PendingFollow")]
