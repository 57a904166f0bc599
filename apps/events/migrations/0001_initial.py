import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('name', models.CharField(max_length=40, verbose_name='name')),
                ('subscriber', models.CharField(max_length=120, verbose_name='subscriber')),
                ('payload', models.JSONField(verbose_name='payload')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['due_at', 'id'], name='event_due'), models.Index(condition=models.Q(('state', 'done')), fields=['finished_at'], name='event_done'), models.Index(condition=models.Q(('state__in', ['pending', 'dead'])), fields=['subscriber', 'name'], name='event_open')],
            },
        ),
    ]
