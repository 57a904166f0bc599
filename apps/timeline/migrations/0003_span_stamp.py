from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('timeline', '0002_receipts'),
    ]

    operations = [
        migrations.AddField(
            model_name='timelinespan',
            name='stamp',
            field=models.BigIntegerField(null=True),
        ),
    ]
