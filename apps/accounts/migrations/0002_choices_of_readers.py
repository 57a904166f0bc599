from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='usercounts',
            name='pinned_feeds',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='user',
            name='hides_read',
            field=models.BooleanField(db_default=False, default=False, verbose_name='hides read posts on home'),
        ),
        migrations.AddField(
            model_name='usercounts',
            name='filters_revision',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='user',
            name='groups_reposts',
            field=models.BooleanField(db_default=True, default=True, verbose_name='sees reposts of the same post as one'),
        ),
        migrations.AddField(
            model_name='user',
            name='hides_activity',
            field=models.BooleanField(db_default=False, default=False, verbose_name='is kept out of activity pages'),
        ),
    ]
