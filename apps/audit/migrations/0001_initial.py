import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AuditRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='at')),
                ('seconds', models.FloatField(default=0, verbose_name='seconds')),
                ('pages', models.PositiveIntegerField(default=0, verbose_name='pages')),
                ('windows', models.PositiveIntegerField(default=0, verbose_name='windows')),
                ('deliveries', models.PositiveIntegerField(default=0, verbose_name='deliveries')),
                ('follows', models.PositiveIntegerField(default=0, verbose_name='follows')),
                ('counts', models.PositiveIntegerField(default=0, verbose_name='counts')),
                ('late', models.PositiveIntegerField(default=0, verbose_name='still on the way')),
                ('settled', models.PositiveIntegerField(default=0, verbose_name='correct when checked again')),
                ('violations', models.PositiveIntegerField(default=0, verbose_name='violations')),
                ('repaired', models.PositiveIntegerField(default=0, verbose_name='repaired')),
            ],
            options={
                'verbose_name': 'audit run',
                'verbose_name_plural': 'audit runs',
                'indexes': [models.Index(fields=['-started_at'], name='audit_run_time')],
            },
        ),
        migrations.CreateModel(
            name='AuditFinding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('missing', 'left out of a page'), ('extra', 'shown to somebody it is not for'), ('repeated', 'twice on a page'), ('order', 'in the wrong order'), ('window', 'missing from a window'), ('undelivered', 'never handed over for delivery'), ('stuck', 'delivery stands still'), ('dead', 'delivery given up'), ('mirror', 'incomplete follow'), ('count', 'wrong count')], max_length=12, verbose_name='what')),
                ('viewer_id', models.BigIntegerField(null=True, verbose_name='account')),
                ('post_id', models.BigIntegerField(null=True, verbose_name='post')),
                ('details', models.JSONField(default=dict, verbose_name='details')),
                ('found_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='found at')),
                ('repaired_at', models.DateTimeField(null=True, verbose_name='repaired at')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='findings', to='audit.auditrun')),
            ],
            options={
                'verbose_name': 'audit finding',
                'verbose_name_plural': 'audit findings',
                'indexes': [models.Index(fields=['kind', 'post_id'], name='audit_finding_about')],
            },
        ),
    ]
