import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('posts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ReplicaMark',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('oldest', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='TimelineSpan',
            fields=[
                ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('ceiling', models.BigIntegerField()),
                ('floor', models.BigIntegerField()),
                ('graph_revision', models.PositiveIntegerField()),
                ('length', models.PositiveIntegerField()),
                ('filled_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='AuthorPolicy',
            fields=[
                ('author', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('policy', models.CharField(choices=[('push', 'push to everybody'), ('online', 'push to those online'), ('pull', 'pull at read time'), ('auto', 'whichever costs least'), ('site', "the site's policy")], default='site', max_length=6, verbose_name='policy')),
                ('mode', models.CharField(blank=True, choices=[('push', 'push to everybody'), ('online', 'push to those online'), ('pull', 'pull at read time')], max_length=6, null=True, verbose_name='mode')),
                ('pulled_since', models.DateTimeField(blank=True, null=True, verbose_name='merged at read time since')),
                ('reason', models.TextField(blank=True, default='', verbose_name='why')),
                ('measured', models.JSONField(blank=True, default=dict, verbose_name='measured')),
                ('measured_at', models.DateTimeField(blank=True, null=True, verbose_name='measured at')),
            ],
            options={
                'verbose_name': 'author policy',
                'verbose_name_plural': 'author policies',
                'indexes': [models.Index(condition=models.Q(('pulled_since__isnull', False)), fields=['author'], name='policy_pulled')],
            },
        ),
        migrations.CreateModel(
            name='FanoutJob',
            fields=[
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('scanned_to', models.BigIntegerField(default=0, verbose_name='split as far as edge')),
                ('virtual_scanned_to', models.BigIntegerField(default=0, verbose_name='split as far as virtual edge')),
                ('followers', models.PositiveIntegerField(default=0, verbose_name='followers at the beginning')),
                ('post', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='fanout', serialize=False, to='posts.post')),
                ('mode', models.CharField(choices=[('push', 'push to everybody'), ('online', 'push to those online'), ('pull', 'pull at read time')], default='online', max_length=6, verbose_name='mode')),
            ],
            options={
                'verbose_name': 'fan-out job',
                'verbose_name_plural': 'fan-out jobs',
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['due_at'], name='fanoutjob_due')],
            },
        ),
        migrations.CreateModel(
            name='Backfill',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('scanned_to', models.BigIntegerField(default=0, verbose_name='split as far as edge')),
                ('virtual_scanned_to', models.BigIntegerField(default=0, verbose_name='split as far as virtual edge')),
                ('followers', models.PositiveIntegerField(default=0, verbose_name='followers at the beginning')),
                ('post_ids', models.JSONField(verbose_name='posts')),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'backfill',
                'verbose_name_plural': 'backfills',
            },
        ),
        migrations.CreateModel(
            name='BackfillChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('first_edge', models.BigIntegerField(verbose_name='first edge')),
                ('last_edge', models.BigIntegerField(verbose_name='last edge')),
                ('is_virtual', models.BooleanField(default=False, verbose_name='virtual follows')),
                ('expected', models.PositiveIntegerField(verbose_name='followers')),
                ('delivered', models.PositiveIntegerField(default=0, verbose_name='delivered')),
                ('dormant', models.PositiveIntegerField(default=0, verbose_name='dormant')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='timeline.backfill')),
            ],
            options={
                'verbose_name': 'backfill chunk',
                'verbose_name_plural': 'backfill chunks',
            },
        ),
        migrations.CreateModel(
            name='PolicyChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.CharField(max_length=6, verbose_name='before')),
                ('after', models.CharField(max_length=6, verbose_name='after')),
                ('reason', models.TextField(blank=True, default='', verbose_name='why')),
                ('made_by', models.CharField(max_length=150, verbose_name='made by')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='made at')),
                ('author', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'policy change',
                'verbose_name_plural': 'policy changes',
            },
        ),
        migrations.CreateModel(
            name='PostReplica',
            fields=[
                ('pk', models.CompositePrimaryKey('author_id', 'post_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('author_id', models.BigIntegerField()),
                ('post_id', models.BigIntegerField()),
                ('is_reply', models.BooleanField()),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.BrinIndex(fields=['post_id'], name='replica_age')],
            },
        ),
        migrations.CreateModel(
            name='SitePolicy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('policy', models.CharField(choices=[('push', 'push to everybody'), ('online', 'push to those online'), ('pull', 'pull at read time'), ('auto', 'whichever costs least'), ('site', "the site's policy")], default='online', max_length=6, verbose_name='policy')),
                ('mode', models.CharField(choices=[('push', 'push to everybody'), ('online', 'push to those online'), ('pull', 'pull at read time')], default='online', max_length=6, verbose_name='mode')),
                ('pulls_all', models.BooleanField(default=False, verbose_name='merged at read time')),
                ('generation', models.PositiveIntegerField(default=0, verbose_name='generation')),
                ('version', models.PositiveBigIntegerField(default=0, verbose_name='version')),
            ],
            options={
                'verbose_name': 'site policy',
                'verbose_name_plural': 'site policy',
                'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='site_policy_once')],
            },
        ),
        migrations.CreateModel(
            name='TimelineEntry',
            fields=[
                ('pk', models.CompositePrimaryKey('reader_id', 'post_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('post_id', models.BigIntegerField()),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('reader', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='FanoutChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('first_edge', models.BigIntegerField(verbose_name='first edge')),
                ('last_edge', models.BigIntegerField(verbose_name='last edge')),
                ('is_virtual', models.BooleanField(default=False, verbose_name='virtual follows')),
                ('expected', models.PositiveIntegerField(verbose_name='followers')),
                ('delivered', models.PositiveIntegerField(default=0, verbose_name='delivered')),
                ('dormant', models.PositiveIntegerField(default=0, verbose_name='dormant')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='timeline.fanoutjob')),
            ],
            options={
                'verbose_name': 'fan-out chunk',
                'verbose_name_plural': 'fan-out chunks',
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['due_at', 'id'], name='fanoutchunk_due')],
                'constraints': [models.UniqueConstraint(models.F('job'), models.F('first_edge'), models.F('is_virtual'), name='fanoutchunk_once'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), ('expected', django.db.models.expressions.CombinedExpression(models.F('delivered'), '+', models.F('dormant'))), _connector='OR'), name='fanoutchunk_adds_up')],
            },
        ),
        migrations.AddIndex(
            model_name='backfill',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['due_at'], name='backfill_due'),
        ),
        migrations.AddIndex(
            model_name='backfillchunk',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['due_at', 'id'], name='backfillchunk_due'),
        ),
        migrations.AddConstraint(
            model_name='backfillchunk',
            constraint=models.UniqueConstraint(models.F('job'), models.F('first_edge'), models.F('is_virtual'), name='backfillchunk_once'),
        ),
        migrations.AddConstraint(
            model_name='backfillchunk',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), ('expected', django.db.models.expressions.CombinedExpression(models.F('delivered'), '+', models.F('dormant'))), _connector='OR'), name='backfillchunk_adds_up'),
        ),
        migrations.AddIndex(
            model_name='timelineentry',
            index=django.contrib.postgres.indexes.BrinIndex(fields=['added_at'], name='entry_age'),
        ),
    ]
