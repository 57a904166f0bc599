"""Presets become algorithms. Stored orders, which are kept for a day, are deleted."""

import django.core.validators
from django.db import migrations, models

RENAME = """
DELETE FROM ranking_ranksession;
UPDATE ranking_rankingchoice SET preset = CASE preset
    WHEN 'newest' THEN 'chronological' WHEN 'balanced' THEN 'light' ELSE preset END;
"""


class Migration(migrations.Migration):
    dependencies = [("ranking", "0001_initial")]

    operations = [
        migrations.AlterField(
            "rankingchoice", "preset", models.CharField("algorithm", max_length=40)
        ),
        migrations.AlterField("ranksession", "preset", models.CharField("algorithm", max_length=40)),
        migrations.RunSQL(RENAME, migrations.RunSQL.noop),
        migrations.RenameField("rankingchoice", "preset", "algorithm"),
        migrations.RenameField("ranksession", "preset", "algorithm"),
        migrations.AddField(
            "ranksession", "weights", models.JSONField("weights", default=list)
        ),
        migrations.AddIndex(
            "rankingchoice",
            models.Index(fields=["algorithm", "user"], name="ranking_choice_of"),
        ),
        migrations.CreateModel(
            name="FactorWeight",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=81, unique=True, verbose_name="factor")),
                (
                    "weight",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                        verbose_name="weight",
                    ),
                ),
            ],
            options={
                "verbose_name": "factor weight",
                "verbose_name_plural": "factor weights",
            },
        ),
    ]
