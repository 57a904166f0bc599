"""Empties the replicas, which are now used only on sites that name databases for them.

On these sites, `maintain_replicas` fills them again.
"""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("timeline", "0006_remove_canary"),
    ]

    operations = [
        migrations.RunSQL("TRUNCATE timeline_postreplica, timeline_replicamark"),
    ]
