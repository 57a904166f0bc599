import django.db.models.deletion
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
            name='NotificationPolicy',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('for_not_following', models.CharField(choices=[('accept', 'accept'), ('filter', 'hold back'), ('drop', 'hide')], default='accept', max_length=6, verbose_name="from people you don't follow")),
                ('for_not_followers', models.CharField(choices=[('accept', 'accept'), ('filter', 'hold back'), ('drop', 'hide')], default='accept', max_length=6, verbose_name="from people who don't follow you")),
                ('for_new_accounts', models.CharField(choices=[('accept', 'accept'), ('filter', 'hold back'), ('drop', 'hide')], default='accept', max_length=6, verbose_name='from new accounts')),
                ('for_private_mentions', models.CharField(choices=[('accept', 'accept'), ('filter', 'hold back'), ('drop', 'hide')], default='accept', max_length=6, verbose_name="private mentions by people you don't follow")),
            ],
            options={
                'verbose_name': 'notification policy',
                'verbose_name_plural': 'notification policies',
            },
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('follow', 'follow'), ('like', 'like'), ('repost', 'repost'), ('reply', 'reply'), ('mention', 'mention'), ('quote', 'quote'), ('request', 'follow request'), ('post', 'new post'), ('edit', 'edit'), ('poll', 'end of a poll')], max_length=8, verbose_name='kind')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('actor', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('post', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='posts.post')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'notification',
                'verbose_name_plural': 'notifications',
                'indexes': [models.Index(fields=['user', '-id'], name='notification_list'), models.Index(condition=models.Q(('post', None), _negated=True), fields=['post'], name='notification_post'), models.Index(fields=['user', 'kind', 'post', 'created_at'], name='notification_group')],
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('kind'), models.F('actor'), models.F('post'), name='notification_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='NotificationPermission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('actor'), name='notification_permission_once')],
            },
        ),
        migrations.CreateModel(
            name='ReadMarker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('timeline', models.CharField(choices=[('home', 'home'), ('notifications', 'notifications')], max_length=13, verbose_name='timeline')),
                ('last_read_id', models.BigIntegerField(default=0, verbose_name='last read')),
                ('version', models.PositiveIntegerField(default=1, verbose_name='version')),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='updated at')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'read marker',
                'verbose_name_plural': 'read markers',
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('timeline'), name='read_marker_once')],
            },
        ),
        migrations.CreateModel(
            name='UnwantedKind',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('follow', 'follow'), ('like', 'like'), ('repost', 'repost'), ('reply', 'reply'), ('mention', 'mention'), ('quote', 'quote'), ('request', 'follow request'), ('post', 'new post'), ('edit', 'edit'), ('poll', 'end of a poll')], max_length=8, verbose_name='kind')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'unwanted kind',
                'verbose_name_plural': 'unwanted kinds',
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('kind'), name='unwanted_kind_once')],
            },
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('thread_id', models.BigIntegerField(verbose_name='thread')),
                ('is_unread', models.BooleanField(default=False, verbose_name='unread')),
                ('last_post', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='posts.post')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'conversation',
                'verbose_name_plural': 'conversations',
                'indexes': [models.Index(fields=['user', '-last_post'], name='conversation_list'), models.Index(fields=['last_post'], name='conversation_last')],
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('thread_id'), name='conversation_once')],
            },
        ),
        migrations.CreateModel(
            name='Announcement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(max_length=2000, verbose_name='text')),
                ('published_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='published at')),
                ('starts_at', models.DateTimeField(blank=True, null=True, verbose_name='event starts')),
                ('ends_at', models.DateTimeField(blank=True, null=True, verbose_name='ends')),
                ('is_all_day', models.BooleanField(default=False, verbose_name='all day')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
            ],
            options={
                'verbose_name': 'announcement',
                'verbose_name_plural': 'announcements',
            },
        ),
        migrations.CreateModel(
            name='AnnouncementReaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('emoji', models.CharField(max_length=32, verbose_name='emoji')),
                ('announcement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reactions', to='notifications.announcement')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('announcement'), models.F('emoji'), models.F('user'), name='reaction_once')],
            },
        ),
        migrations.CreateModel(
            name='AnnouncementRead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('announcement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reads', to='notifications.announcement')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('announcement'), name='announcement_read_once')],
            },
        ),
    ]
