from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0004_kinds_by_name"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="is_request",
            field=models.BooleanField(db_default=False, default=False, verbose_name="request"),
        ),
        migrations.AddField(
            model_name="conversation",
            name="has_left",
            field=models.BooleanField(db_default=False, default=False, verbose_name="left"),
        ),
        migrations.AddField(
            model_name="conversation",
            name="seen_id",
            field=models.BigIntegerField(blank=True, null=True, verbose_name="seen"),
        ),
    ]
