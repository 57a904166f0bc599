from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("operations", "0004_table_of_epochs")]

    operations = [
        migrations.AlterField(
            model_name="cachenode",
            name="state",
            field=models.CharField(
                choices=[("active", "active"), ("draining", "draining")],
                max_length=8,
                verbose_name="state",
            ),
        ),
        migrations.AlterField(
            model_name="topologyversion",
            name="action",
            field=models.CharField(
                choices=[
                    ("add_l1", "L1 group added"),
                    ("replace", "node replaced"),
                    ("drain", "drained"),
                    ("flush", "class flushed"),
                    ("rollback", "rolled back"),
                    ("move", "moved"),
                    ("resize", "slots changed"),
                ],
                max_length=8,
                verbose_name="what",
            ),
        ),
    ]
