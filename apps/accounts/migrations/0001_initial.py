import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('handle', models.CharField(db_collation='C', max_length=30, unique=True, validators=[django.core.validators.RegexValidator('\\A[a-z0-9_]{3,30}\\Z', '3 to 30 characters: a-z, 0-9 and _.')], verbose_name='handle')),
                ('email', models.EmailField(blank=True, max_length=254, null=True, unique=True, verbose_name='e-mail')),
                ('pending_email', models.EmailField(blank=True, db_default='', default='', max_length=254, verbose_name='e-mail, not confirmed')),
                ('pending_email_at', models.DateTimeField(blank=True, null=True)),
                ('display_name', models.CharField(blank=True, max_length=50, verbose_name='display name')),
                ('bio', models.TextField(blank=True, max_length=500, verbose_name='bio')),
                ('avatar', models.ImageField(blank=True, upload_to='avatars/', verbose_name='avatar')),
                ('header', models.ImageField(blank=True, db_default='', upload_to='headers/', verbose_name='header')),
                ('lines', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, verbose_name='profile lines')),
                ('is_bot', models.BooleanField(db_default=False, default=False, verbose_name='a program')),
                ('is_discoverable', models.BooleanField(db_default=True, default=True, verbose_name='may be suggested')),
                ('is_indexable', models.BooleanField(db_default=True, default=True, verbose_name='public posts may appear in search results')),
                ('post_visibility', models.CharField(choices=[('public', 'Everybody'), ('unlisted', 'Everybody, but on no public page'), ('followers', 'Followers')], db_default='public', default='public', max_length=9, verbose_name='visibility of new posts')),
                ('post_sensitive', models.BooleanField(db_default=False, default=False, verbose_name='posts are sensitive')),
                ('post_language', models.CharField(blank=True, db_default='', max_length=10, verbose_name='language of posts')),
                ('is_locked', models.BooleanField(db_default=False, default=False, verbose_name='approves followers')),
                ('interface_language', models.CharField(blank=True, max_length=10, verbose_name='language')),
                ('theme', models.CharField(choices=[('auto', 'Auto'), ('light', 'Light'), ('dark', 'Dark')], default='auto', max_length=5, verbose_name='theme')),
                ('text_size', models.CharField(choices=[('small', 'Small'), ('normal', 'Normal'), ('large', 'Large'), ('larger', 'Larger')], default='normal', max_length=6, verbose_name='text size')),
                ('keys', models.CharField(choices=[('on', 'On'), ('mastodon', 'On, with b to repost and Shift+b to bookmark, as in Mastodon'), ('off', 'Off')], db_default='on', default='on', max_length=8, verbose_name='keyboard shortcuts')),
                ('asks_for_alt', models.BooleanField(db_default=True, default=True, verbose_name='is reminded of missing picture descriptions')),
                ('density', models.CharField(choices=[('comfortable', 'Comfortable'), ('compact', 'Compact')], db_default='comfortable', default='comfortable', max_length=11, verbose_name='density')),
                ('loads_by_button', models.BooleanField(db_default=False, default=False, verbose_name='loads more posts with a button')),
                ('is_staff', models.BooleanField(default=False, verbose_name='staff')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('suspended_at', models.DateTimeField(blank=True, null=True, verbose_name='suspended at')),
                ('suspension_reason', models.TextField(blank=True, verbose_name='reason for the suspension')),
                ('erased_at', models.DateTimeField(blank=True, null=True, verbose_name='deleted by its owner')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='joined')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
            },
        ),
        migrations.CreateModel(
            name='FormerHandle',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name='AccessToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('name', models.CharField(max_length=60, verbose_name='name')),
                ('scopes', models.TextField(db_default='read write follow push profile', default='read write follow push profile', verbose_name='scopes')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked at')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'access token',
                'verbose_name_plural': 'access tokens',
            },
        ),
        migrations.CreateModel(
            name='Login',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_key', models.CharField(max_length=40, unique=True)),
                ('device', models.CharField(max_length=60, verbose_name='device')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='logins', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'login',
                'verbose_name_plural': 'logins',
            },
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('dead', 'dead letter')], default='pending', max_length=8, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='due at')),
                ('last_error', models.TextField(blank=True, default='', verbose_name='last error')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('kind', models.CharField(choices=[('confirm_email', 'confirm an address'), ('email_changed', 'another address was given'), ('password_reset', 'a new password')], max_length=20, verbose_name='kind')),
                ('address', models.EmailField(blank=True, max_length=254)),
                ('language', models.CharField(blank=True, max_length=10)),
                ('started_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'e-mail message',
                'verbose_name_plural': 'e-mail messages',
            },
        ),
        migrations.CreateModel(
            name='UserCounts',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='counts', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('followers', models.PositiveIntegerField(default=0, verbose_name='followers')),
                ('following', models.PositiveIntegerField(default=0, verbose_name='following')),
                ('posts', models.PositiveIntegerField(default=0, verbose_name='posts')),
                ('last_post_id', models.BigIntegerField(default=0)),
                ('last_open_post_id', models.BigIntegerField(db_default=0, default=0)),
                ('wrote_restricted', models.BooleanField(db_default=True, default=False)),
                ('revision', models.PositiveIntegerField(db_default=0, default=0)),
                ('graph_revision', models.PositiveIntegerField(db_default=0, default=0)),
                ('followers_revision', models.PositiveIntegerField(db_default=0, default=0)),
                ('outbox_revision', models.PositiveIntegerField(db_default=0, default=0)),
                ('followed_tags', models.PositiveIntegerField(db_default=0, default=0)),
                ('exclusive_lists', models.PositiveIntegerField(db_default=0, default=0)),
                ('filters', models.PositiveIntegerField(db_default=0, default=0)),
                ('holds_notifications', models.BooleanField(db_default=False, default=False)),
                ('choosy_follows', models.PositiveIntegerField(db_default=0, default=0)),
                ('knows_circles', models.BooleanField(db_default=True, default=False)),
            ],
            options={
                'verbose_name': 'user counts',
                'verbose_name_plural': 'user counts',
                'indexes': [models.Index(fields=['-followers', 'user'], name='counts_most_followed')],
            },
        ),
        migrations.AddIndex(
            model_name='user',
            index=models.Index(fields=['avatar'], name='user_avatar'),
        ),
        migrations.AddIndex(
            model_name='user',
            index=models.Index(fields=['header'], name='user_header'),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.CheckConstraint(condition=models.Q(('handle__regex', '^[a-z0-9_]{3,30}$')), name='user_handle_form'),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.CheckConstraint(condition=models.Q(('id__lte', 268435455)), name='user_id_fits_post_ids'),
        ),
        migrations.AddIndex(
            model_name='mail',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['due_at', 'id'], name='mail_due'),
        ),
    ]
