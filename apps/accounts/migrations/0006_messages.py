from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_times_of_postgresql"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="sends_on_enter",
            field=models.BooleanField(
                db_default=True, default=True, verbose_name="Enter sends a message"
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="tells_seen",
            field=models.BooleanField(
                db_default=True,
                default=True,
                verbose_name="shares read receipts of messages",
            ),
        ),
    ]
