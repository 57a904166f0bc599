from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_knows_circles'),
    ]

    operations = [
        migrations.AddField(
            model_name='usercounts',
            name='last_open_post_id',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='usercounts',
            name='wrote_restricted',
            field=models.BooleanField(db_default=True, default=False),
        ),
    ]
