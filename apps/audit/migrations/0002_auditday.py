from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditDay',
            fields=[
                ('day', models.DateField(primary_key=True, serialize=False, verbose_name='day')),
                ('figures', models.JSONField(default=dict, verbose_name='figures')),
            ],
            options={
                'verbose_name': 'audit day',
                'verbose_name_plural': 'audit days',
            },
        ),
    ]
