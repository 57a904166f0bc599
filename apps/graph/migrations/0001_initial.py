import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        # These packages are migrated first: a change of a model renders all related models again, so their many
        # changes take a tenth of the time before the site's own models exist.
        ('oauth2_provider', '0022_refreshtoken_token_family_index'),
        ('otp_static', '0003_add_timestamps'),
        ('otp_totp', '0003_add_timestamps'),
    ]

    operations = [
        migrations.CreateModel(
            name='GraphImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('lines_done', models.BigIntegerField(default=0)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Circle',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, verbose_name='name')),
                ('is_shared', models.BooleanField(default=False, verbose_name='members may post')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('deleted_at', models.DateTimeField(blank=True, null=True, verbose_name='deleted at')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'circle',
                'verbose_name_plural': 'circles',
            },
        ),
        migrations.CreateModel(
            name='CircleMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('group', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='graph.circle')),
                ('member', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'circle member',
                'verbose_name_plural': 'circle members',
            },
        ),
        migrations.CreateModel(
            name='Endorsement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('other', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'endorsement',
                'verbose_name_plural': 'endorsements',
            },
        ),
        migrations.CreateModel(
            name='Followee',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shows_reposts', models.BooleanField(db_default=True, default=True, verbose_name='shows reposts')),
                ('notifies', models.BooleanField(db_default=False, default=False, verbose_name='tells of new posts')),
                ('languages', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8), blank=True, db_default=[], default=list, size=None, verbose_name='languages')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('followee', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'followee',
                'verbose_name_plural': 'followees',
            },
        ),
        migrations.CreateModel(
            name='Follower',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('notifies', models.BooleanField(db_default=False, default=False, verbose_name='wants to be told')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('follower', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'follower',
                'verbose_name_plural': 'followers',
            },
        ),
        migrations.CreateModel(
            name='FollowRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shows_reposts', models.BooleanField(default=True, verbose_name='shows reposts')),
                ('notifies', models.BooleanField(default=False, verbose_name='tells of new posts')),
                ('languages', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8), blank=True, db_default=[], default=list, size=None, verbose_name='languages')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('requester', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'follow request',
                'verbose_name_plural': 'follow requests',
            },
        ),
        migrations.CreateModel(
            name='Mute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hides_notifications', models.BooleanField(db_default=True, default=True, verbose_name='notifications too')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='ends')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('muted', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'mute',
                'verbose_name_plural': 'mutes',
            },
        ),
        migrations.CreateModel(
            name='AccountNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(verbose_name='note')),
                ('about', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'note',
                'verbose_name_plural': 'notes',
                'constraints': [models.UniqueConstraint(models.F('owner'), models.F('about'), name='account_note_once')],
            },
        ),
        migrations.CreateModel(
            name='Block',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('blocked', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'block',
                'verbose_name_plural': 'blocks',
                'indexes': [models.Index(fields=['blocked', 'owner'], name='block_mirror'), models.Index(fields=['owner', '-id'], name='block_list')],
                'constraints': [models.UniqueConstraint(models.F('owner'), models.F('blocked'), name='block_once'), models.CheckConstraint(condition=models.Q(('owner', models.F('blocked')), _negated=True), name='block_not_self')],
            },
        ),
        migrations.CreateModel(
            name='UserList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('name', models.CharField(max_length=100, verbose_name='title')),
                ('replies_policy', models.CharField(choices=[('followed', 'Replies to anyone you follow'), ('list', 'Replies to people in the list'), ('none', 'No replies')], default='list', max_length=8, verbose_name='replies')),
                ('is_exclusive', models.BooleanField(default=False, verbose_name='exclusive')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'list',
                'verbose_name_plural': 'lists',
            },
        ),
        migrations.CreateModel(
            name='ListMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('group', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='graph.userlist')),
                ('member', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'list member',
                'verbose_name_plural': 'list members',
            },
        ),
        migrations.AddConstraint(
            model_name='circle',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('name'), condition=models.Q(('deleted_at', None)), name='circle_name_once'),
        ),
        migrations.AddIndex(
            model_name='circlemember',
            index=models.Index(fields=['member', 'group'], name='circle_member_mine'),
        ),
        migrations.AddConstraint(
            model_name='circlemember',
            constraint=models.UniqueConstraint(models.F('group'), models.F('member'), name='circle_member_once'),
        ),
        migrations.AddIndex(
            model_name='endorsement',
            index=models.Index(fields=['other'], name='endorsement_mirror'),
        ),
        migrations.AddIndex(
            model_name='endorsement',
            index=models.Index(fields=['owner', '-id'], name='endorsement_list'),
        ),
        migrations.AddConstraint(
            model_name='endorsement',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('other'), name='endorsement_once'),
        ),
        migrations.AddIndex(
            model_name='followee',
            index=models.Index(fields=['owner', '-id'], name='followee_list'),
        ),
        migrations.AddIndex(
            model_name='followee',
            index=models.Index(condition=models.Q(('shows_reposts', False)), fields=['owner', 'followee'], name='followee_hidden_reposts'),
        ),
        migrations.AddIndex(
            model_name='followee',
            index=models.Index(condition=models.Q(('languages', []), _negated=True), fields=['owner'], name='followee_choosy'),
        ),
        migrations.AddConstraint(
            model_name='followee',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('followee'), name='followee_once'),
        ),
        migrations.AddConstraint(
            model_name='followee',
            constraint=models.CheckConstraint(condition=models.Q(('owner', models.F('followee')), _negated=True), name='followee_not_self'),
        ),
        migrations.AddIndex(
            model_name='follower',
            index=models.Index(fields=['owner', '-id'], include=('follower',), name='follower_list'),
        ),
        migrations.AddIndex(
            model_name='follower',
            index=models.Index(condition=models.Q(('notifies', True)), fields=['owner', 'id'], include=('follower',), name='follower_told'),
        ),
        migrations.AddConstraint(
            model_name='follower',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('follower'), name='follower_once'),
        ),
        migrations.AddConstraint(
            model_name='follower',
            constraint=models.CheckConstraint(condition=models.Q(('owner', models.F('follower')), _negated=True), name='follower_not_self'),
        ),
        migrations.AddIndex(
            model_name='followrequest',
            index=models.Index(fields=['owner', '-id'], name='follow_request_list'),
        ),
        migrations.AddConstraint(
            model_name='followrequest',
            constraint=models.UniqueConstraint(models.F('requester'), models.F('owner'), name='follow_request_once'),
        ),
        migrations.AddConstraint(
            model_name='followrequest',
            constraint=models.CheckConstraint(condition=models.Q(('owner', models.F('requester')), _negated=True), name='follow_request_not_self'),
        ),
        migrations.AddIndex(
            model_name='mute',
            index=models.Index(fields=['muted'], name='mute_mirror'),
        ),
        migrations.AddIndex(
            model_name='mute',
            index=models.Index(fields=['owner', '-id'], name='mute_list'),
        ),
        migrations.AddIndex(
            model_name='mute',
            index=models.Index(condition=models.Q(('expires_at', None), _negated=True), fields=['expires_at'], name='mute_due'),
        ),
        migrations.AddConstraint(
            model_name='mute',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('muted'), name='mute_once'),
        ),
        migrations.AddConstraint(
            model_name='mute',
            constraint=models.CheckConstraint(condition=models.Q(('owner', models.F('muted')), _negated=True), name='mute_not_self'),
        ),
        migrations.AddIndex(
            model_name='userlist',
            index=models.Index(fields=['owner', 'id'], name='list_of_owner'),
        ),
        migrations.AddIndex(
            model_name='listmember',
            index=models.Index(fields=['group', '-id'], name='list_member_page'),
        ),
        migrations.AddIndex(
            model_name='listmember',
            index=models.Index(fields=['member', 'group'], name='list_member_mine'),
        ),
        migrations.AddConstraint(
            model_name='listmember',
            constraint=models.UniqueConstraint(models.F('group'), models.F('member'), name='list_member_once'),
        ),
    ]
