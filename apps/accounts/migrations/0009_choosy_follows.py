from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_logins'),
    ]

    operations = [
        migrations.AddField(
            model_name='usercounts',
            name='choosy_follows',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
