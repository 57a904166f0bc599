from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_messages"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="plays_loops",
            field=models.BooleanField(
                db_default=True, default=True, verbose_name="plays short videos without sound"
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="post_visibility",
            field=models.CharField(
                choices=[
                    ("public", "Public"),
                    ("unlisted", "Quiet public"),
                    ("followers", "Followers"),
                ],
                db_default="public",
                default="public",
                max_length=9,
                verbose_name="visibility of new posts",
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="second_column",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=30,
                verbose_name="second column of home",
            ),
        ),
    ]
