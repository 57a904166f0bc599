from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0012_reading'),
    ]

    operations = [
        migrations.AddField(
            model_name='usercounts',
            name='holds_notifications',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
