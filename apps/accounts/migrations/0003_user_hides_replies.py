from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_choices_of_readers"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="hides_replies",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="hides replies to strangers on home"
            ),
        ),
    ]
