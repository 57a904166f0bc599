"""Of spans of before no follow is known: the next change of a follow adds all of them, or begins a new span."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("timeline", "0007_empty_replicas"),
    ]

    operations = [
        migrations.AddField("timelinespan", "newest_follow", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField("timelinespan", "newest_virtual_follow", models.BigIntegerField(db_default=0, default=0)),
    ]
