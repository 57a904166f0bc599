"""Adds the ids of the newest follows to spans. Existing spans get 0, so the next change of a follow reloads them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("timeline", "0007_empty_replicas"),
    ]

    operations = [
        migrations.AddField("timelinespan", "newest_follow", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField("timelinespan", "newest_virtual_follow", models.BigIntegerField(db_default=0, default=0)),
    ]
