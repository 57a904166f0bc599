"""Replicas are for sites that name databases for them; elsewhere they were copies of posts beside the posts.

Where there still are some, `maintain_replicas` fills them again.
"""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("timeline", "0006_remove_canary"),
    ]

    operations = [
        migrations.RunSQL("TRUNCATE timeline_postreplica, timeline_replicamark"),
    ]
