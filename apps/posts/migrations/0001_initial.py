import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('graph', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Post',
            fields=[
                ('id', models.BigIntegerField(editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('text', 'text'), ('picture', 'picture'), ('video', 'video'), ('repost', 'repost'), ('quote', 'quote')], default='text', max_length=8, verbose_name='kind')),
                ('body', models.TextField(blank=True, verbose_name='text')),
                ('content_warning', models.CharField(blank=True, max_length=200, verbose_name='content warning')),
                ('sensitive', models.BooleanField(db_default=False, default=False, verbose_name='sensitive')),
                ('has_poll', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='poll')),
                ('language', models.CharField(blank=True, max_length=10, verbose_name='language')),
                ('visibility', models.CharField(choices=[('public', 'Public'), ('unlisted', 'Quiet public'), ('followers', 'Followers'), ('mentioned', 'Mentioned people'), ('circle', 'A circle')], default='public', max_length=9, verbose_name='visibility')),
                ('quote_policy', models.CharField(choices=[('public', 'Everybody'), ('followers', 'Followers'), ('nobody', 'Nobody')], db_default='public', default='public', max_length=9, verbose_name='who may quote it')),
                ('thread_id', models.BigIntegerField(verbose_name='thread')),
                ('application', models.CharField(blank=True, db_default='', default='', max_length=60, verbose_name='application')),
                ('website', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='its website')),
                ('version', models.PositiveIntegerField(default=1, verbose_name='version')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('edited_at', models.DateTimeField(blank=True, null=True, verbose_name='edited at')),
                ('pinned_at', models.DateTimeField(blank=True, null=True, verbose_name='pinned at')),
                ('deleted_at', models.DateTimeField(blank=True, null=True, verbose_name='deleted at')),
                ('author', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('circle', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='graph.circle')),
                ('reply_to', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='posts.post')),
                ('source', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='posts.post')),
            ],
            options={
                'verbose_name': 'post',
                'verbose_name_plural': 'posts',
            },
        ),
        migrations.CreateModel(
            name='PostCounts',
            fields=[
                ('post', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='counts', serialize=False, to='posts.post')),
                ('replies', models.PositiveIntegerField(default=0, verbose_name='replies')),
                ('reposts', models.PositiveIntegerField(default=0, verbose_name='reposts')),
                ('likes', models.PositiveIntegerField(default=0, verbose_name='likes')),
                ('bookmarks', models.PositiveIntegerField(default=0, verbose_name='bookmarks')),
                ('reads', models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='reads')),
                ('quotes', models.PositiveIntegerField(db_default=0, default=0, verbose_name='quotes')),
                ('revision', models.PositiveIntegerField(db_default=0, default=0)),
            ],
            options={
                'verbose_name': 'post counts',
                'verbose_name_plural': 'post counts',
            },
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('post', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='posts.post')),
            ],
            options={
                'verbose_name': 'mention',
                'verbose_name_plural': 'mentions',
            },
        ),
        migrations.CreateModel(
            name='Revision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(verbose_name='version')),
                ('body', models.TextField(blank=True, verbose_name='text')),
                ('content_warning', models.CharField(blank=True, max_length=200, verbose_name='content warning')),
                ('sensitive', models.BooleanField(default=False, verbose_name='sensitive')),
                ('pictures', models.JSONField(default=list, verbose_name='pictures')),
                ('created_at', models.DateTimeField(verbose_name='since')),
                ('post', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='posts.post')),
            ],
            options={
                'verbose_name': 'revision',
                'verbose_name_plural': 'revisions',
            },
        ),
        migrations.CreateModel(
            name='ScheduledPost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('scheduled_at', models.DateTimeField(verbose_name='scheduled for')),
                ('draft', models.JSONField(verbose_name='draft')),
                ('author', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('post', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='posts.post')),
            ],
            options={
                'verbose_name': 'scheduled post',
                'verbose_name_plural': 'scheduled posts',
            },
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('fingerprint', models.CharField(db_default='', default='', max_length=32)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('post', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='posts.post')),
                ('scheduled', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='posts.scheduledpost')),
            ],
        ),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField(default=0, verbose_name='position')),
                ('file', models.FileField(upload_to='pictures/', verbose_name='file')),
                ('preview', models.FileField(blank=True, db_default='', upload_to='pictures/', verbose_name='preview')),
                ('width', models.PositiveIntegerField(editable=False, verbose_name='width')),
                ('height', models.PositiveIntegerField(editable=False, verbose_name='height')),
                ('alt', models.TextField(blank=True, max_length=1500, verbose_name='description')),
                ('blurhash', models.CharField(blank=True, db_default='', max_length=40, verbose_name='blurred')),
                ('moves', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='moving')),
                ('focus_x', models.FloatField(db_default=0, default=0)),
                ('focus_y', models.FloatField(db_default=0, default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('post', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='posts.post')),
                ('scheduled', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='attachments', to='posts.scheduledpost')),
            ],
            options={
                'verbose_name': 'attachment',
                'verbose_name_plural': 'attachments',
            },
        ),
        migrations.CreateModel(
            name='ThreadMute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('thread_id', models.BigIntegerField(verbose_name='thread')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'muted thread',
                'verbose_name_plural': 'muted threads',
            },
        ),
        migrations.CreateModel(
            name='Poll',
            fields=[
                ('post', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='poll', serialize=False, to='posts.post')),
                ('options', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None, verbose_name='options')),
                ('multiple', models.BooleanField(default=False, verbose_name='several choices')),
                ('hide_totals', models.BooleanField(default=False, verbose_name='hidden until the end')),
                ('expires_at', models.DateTimeField(verbose_name='ends')),
                ('votes', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None, verbose_name='votes')),
                ('voters', models.PositiveIntegerField(default=0, verbose_name='voters')),
                ('is_ended', models.BooleanField(default=False)),
            ],
            options={
                'verbose_name': 'poll',
                'verbose_name_plural': 'polls',
                'indexes': [models.Index(condition=models.Q(('is_ended', False)), fields=['expires_at'], name='poll_running')],
            },
        ),
        migrations.AddIndex(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None)), fields=['author', '-id'], include=('visibility', 'kind', 'reply_to'), name='post_outbox'),
        ),
        migrations.AddIndex(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), ('visibility', 'public')), fields=['-id'], name='post_public'),
        ),
        migrations.AddIndex(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), ('visibility__in', ('followers', 'mentioned', 'circle'))), fields=['author', '-id'], include=('visibility',), name='post_restricted'),
        ),
        migrations.AddIndex(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), models.Q(('circle', None), _negated=True)), fields=['circle', '-id'], include=('author',), name='post_circle'),
        ),
        migrations.AddIndex(
            model_name='post',
            index=models.Index(fields=['thread_id', 'id'], name='post_thread'),
        ),
        migrations.AddIndex(
            model_name='post',
            index=models.Index(condition=models.Q(('source', None), _negated=True), fields=['source', 'id'], name='post_source'),
        ),
        migrations.AddIndex(
            model_name='post',
            index=models.Index(condition=models.Q(('deleted_at', None), models.Q(('pinned_at', None), _negated=True)), fields=['author', '-pinned_at'], name='post_pinned'),
        ),
        migrations.AddConstraint(
            model_name='post',
            constraint=models.UniqueConstraint(models.F('author'), models.F('source'), condition=models.Q(('deleted_at', None), ('kind', 'repost')), name='repost_once'),
        ),
        migrations.AddConstraint(
            model_name='post',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['repost', 'quote']), ('source', None), _connector='OR'), name='source_of_repost_or_quote'),
        ),
        migrations.AddConstraint(
            model_name='post',
            constraint=models.CheckConstraint(condition=models.Q(('visibility', 'circle'), ('circle', None), _connector='XOR'), name='circle_of_circle_post'),
        ),
        migrations.AddIndex(
            model_name='mention',
            index=models.Index(fields=['user', '-post'], name='mention_list'),
        ),
        migrations.AddConstraint(
            model_name='mention',
            constraint=models.UniqueConstraint(models.F('post'), models.F('user'), name='mention_once'),
        ),
        migrations.AddConstraint(
            model_name='revision',
            constraint=models.UniqueConstraint(models.F('post'), models.F('version'), name='revision_once'),
        ),
        migrations.AddIndex(
            model_name='scheduledpost',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['due_at', 'id'], name='scheduled_due'),
        ),
        migrations.AddIndex(
            model_name='scheduledpost',
            index=models.Index(fields=['author', '-id'], name='scheduled_list'),
        ),
        migrations.AddIndex(
            model_name='idempotencykey',
            index=models.Index(condition=models.Q(('scheduled', None), _negated=True), fields=['scheduled'], name='idempotency_scheduled'),
        ),
        migrations.AddIndex(
            model_name='idempotencykey',
            index=models.Index(fields=['created_at'], name='idempotency_old'),
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.UniqueConstraint(models.F('user'), models.F('key'), name='idempotency_key_once'),
        ),
        migrations.AddIndex(
            model_name='attachment',
            index=models.Index(fields=['file'], name='attachment_file'),
        ),
        migrations.AddIndex(
            model_name='attachment',
            index=models.Index(fields=['preview'], name='attachment_preview'),
        ),
        migrations.AddIndex(
            model_name='attachment',
            index=models.Index(condition=models.Q(('post', None)), fields=['created_at'], name='attachment_waiting'),
        ),
        migrations.AddIndex(
            model_name='attachment',
            index=models.Index(condition=models.Q(('scheduled', None), _negated=True), fields=['scheduled'], name='attachment_scheduled'),
        ),
        migrations.AddConstraint(
            model_name='attachment',
            constraint=models.UniqueConstraint(models.F('post'), models.F('position'), name='attachment_position'),
        ),
        migrations.AddConstraint(
            model_name='threadmute',
            constraint=models.UniqueConstraint(models.F('user'), models.F('thread_id'), name='thread_mute_once'),
        ),
    ]
