"""Delete the findings of half-written posts. Only sites with several servers had such posts; all were completed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0006_database_time")]

    operations = [
        migrations.RunSQL("DELETE FROM audit_auditfinding WHERE kind = 'interrupted'"),
        migrations.AlterField(
            model_name="auditfinding",
            name="kind",
            field=models.CharField(
                choices=[
                    ("missing", "left out of a page"),
                    ("extra", "shown to somebody it is not for"),
                    ("repeated", "twice on a page"),
                    ("order", "in the wrong order"),
                    ("window", "missing from a window"),
                    ("undelivered", "never handed over for delivery"),
                    ("stuck", "delivery stands still"),
                    ("dead", "delivery given up"),
                    ("chunk", "part of a delivery is gone"),
                    ("receipt", "changed receipt"),
                    ("lost", "delivery given up for good"),
                    ("mirror", "incomplete follow"),
                    ("count", "wrong count"),
                    ("cached", "cached value that is not so"),
                ],
                max_length=12,
                verbose_name="what",
            ),
        ),
    ]
