import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('removed', models.JSONField(default=dict, verbose_name='removed')),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'erasure',
                'verbose_name_plural': 'erasures',
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['due_at', 'id'], name='erasure_due')],
            },
        ),
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('name', models.CharField(max_length=80, unique=True)),
                ('done', models.PositiveIntegerField(default=0, verbose_name='done')),
                ('total', models.PositiveIntegerField(default=0, verbose_name='of')),
                ('size', models.PositiveBigIntegerField(default=0, verbose_name='bytes')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='kept until')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'archive',
                'verbose_name_plural': 'archives',
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['due_at', 'id'], name='export_due'), models.Index(condition=models.Q(('expires_at', None), _negated=True), fields=['expires_at'], name='export_expiring')],
                'constraints': [models.UniqueConstraint(models.F('user'), condition=models.Q(('state', 'pending')), name='export_one_at_a_time')],
            },
        ),
    ]
