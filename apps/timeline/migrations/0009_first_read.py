"""Adds the time when a follower first opened a post; it stays empty for posts that were opened before."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("timeline", "0008_newest_follows_of_spans"),
    ]

    operations = [
        migrations.AddField("fanoutjob", "first_read_at", models.DateTimeField(null=True, verbose_name="first read by a follower")),
    ]
