from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("operations", "0004_table_of_epochs")]

    operations = [
        migrations.CreateModel(
            name="BurstPolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_automatic", models.BooleanField(default=False, verbose_name="add and remove L1 groups automatically")),
                ("spares", models.TextField(blank=True, help_text="Addresses of running, unused Memcached nodes, one per line. Each may become an L1 group.", verbose_name="spare nodes")),
                ("megabytes", models.PositiveIntegerField(default=16, validators=[MinValueValidator(1), MaxValueValidator(1048576)], verbose_name="megabytes of each")),
                ("most_reads", models.PositiveIntegerField(default=5000, help_text="Reads of one key at one node. A higher rate needs one more L1 group.", validators=[MinValueValidator(1)], verbose_name="maximum reads per second")),
                ("most_groups", models.PositiveSmallIntegerField(default=8, help_text="Includes those in the settings. No more than this are added automatically.", validators=[MinValueValidator(1), MaxValueValidator(64)], verbose_name="maximum number of L1 groups")),
                ("calm_minutes", models.PositiveSmallIntegerField(default=10, help_text="A group is removed when it has not been needed for this many minutes (up to 10).", validators=[MinValueValidator(1), MaxValueValidator(10)], verbose_name="minutes before removal")),
            ],
            options={"verbose_name": "rules for bursts", "verbose_name_plural": "rules for bursts"},
        ),
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
