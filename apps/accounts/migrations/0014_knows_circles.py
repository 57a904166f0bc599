from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0013_holds_notifications'),
    ]

    operations = [
        migrations.AddField(
            model_name='usercounts',
            name='knows_circles',
            field=models.BooleanField(db_default=True, default=False),
        ),
    ]
