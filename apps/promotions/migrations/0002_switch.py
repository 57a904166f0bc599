from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("promotions", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="PromotionSwitch",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(
                        default=1, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "is_on",
                    models.BooleanField(
                        default=False,
                        help_text="While this is off, no campaign starts, and nobody sees the running ones.",
                        verbose_name="posts are promoted",
                    ),
                ),
            ],
            options={
                "verbose_name": "promotion switch",
                "verbose_name_plural": "promotion switch",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="one_switch")
                ],
            },
        ),
        migrations.RunSQL(
            "INSERT INTO promotions_promotionswitch (id, is_on) VALUES (1, false)",
            migrations.RunSQL.noop,
        ),
    ]
