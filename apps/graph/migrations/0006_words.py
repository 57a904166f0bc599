from django.db import migrations, models


class Migration(migrations.Migration):
    """What staff read of columns; nothing in the database changes."""

    dependencies = [("graph", "0005_delete_pending_follow")]

    operations = [
        migrations.AlterField(
            model_name="followee",
            name="notifies",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="notifies of new posts"
            ),
        ),
        migrations.AlterField(
            model_name="follower",
            name="notifies",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="wants notifications"
            ),
        ),
        migrations.AlterField(
            model_name="followrequest",
            name="notifies",
            field=models.BooleanField(default=False, verbose_name="notifies of new posts"),
        ),
    ]
