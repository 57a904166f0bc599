from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("search", "0001_initial"),
    ]

    operations = [
        # the existing row is the one for posts, hence the default
        migrations.AddField(
            model_name="indexwalk",
            name="kind",
            field=models.CharField(
                choices=[("posts", "Posts"), ("people", "People")],
                default="posts",
                max_length=6,
                unique=True,
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            model_name="indexwalk",
            name="after",
            field=models.BigIntegerField(default=0, verbose_name="up to number"),
        ),
    ]
