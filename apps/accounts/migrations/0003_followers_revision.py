from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_revisions'),
    ]

    operations = [
        migrations.AddField(
            model_name='usercounts',
            name='followers_revision',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
