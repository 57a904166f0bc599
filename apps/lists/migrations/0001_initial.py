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
            name='UserList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=100, verbose_name='title')),
                ('replies_policy', models.CharField(choices=[('followed', 'Replies to anyone you follow'), ('list', 'Replies to people in the list'), ('none', 'No replies')], default='list', max_length=8, verbose_name='replies')),
                ('is_exclusive', models.BooleanField(default=False, verbose_name='exclusive')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
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
                ('member', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user_list', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='lists.userlist')),
            ],
            options={
                'verbose_name': 'list member',
                'verbose_name_plural': 'list members',
            },
        ),
        migrations.AddIndex(
            model_name='userlist',
            index=models.Index(fields=['owner', 'id'], name='list_of_owner'),
        ),
        migrations.AddIndex(
            model_name='listmember',
            index=models.Index(fields=['user_list', '-id'], name='list_member_page'),
        ),
        migrations.AddIndex(
            model_name='listmember',
            index=models.Index(fields=['member', 'user_list'], name='list_member_mine'),
        ),
        migrations.AddConstraint(
            model_name='listmember',
            constraint=models.UniqueConstraint(models.F('user_list'), models.F('member'), name='list_member_once'),
        ),
    ]
