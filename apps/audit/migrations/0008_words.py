from django.db import migrations, models


class Migration(migrations.Migration):
    """Change the labels of the kinds of findings for staff; nothing in the database changes."""

    dependencies = [("audit", "0007_delete_interrupted")]

    operations = [
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
                    ("stuck", "delivery has stopped"),
                    ("dead", "delivery given up"),
                    ("chunk", "part of a delivery is gone"),
                    ("receipt", "changed receipt"),
                    ("lost", "delivery given up for good"),
                    ("mirror", "incomplete follow"),
                    ("count", "wrong count"),
                    ("cached", "wrong cached value"),
                ],
                max_length=12,
                verbose_name="what",
            ),
        ),
    ]
