import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('posts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
    ]
