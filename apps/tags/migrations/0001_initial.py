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
            name='Tag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(db_collation='C', max_length=100, unique=True, verbose_name='name')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
            ],
            options={
                'verbose_name': 'tag',
                'verbose_name_plural': 'tags',
            },
        ),
        migrations.CreateModel(
            name='TagDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('uses', models.PositiveIntegerField()),
                ('accounts', models.PositiveIntegerField()),
                ('tag', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tags.tag')),
            ],
            options={
                'indexes': [models.Index(fields=['day', '-accounts', '-uses'], name='tag_day_top')],
                'constraints': [models.UniqueConstraint(models.F('tag'), models.F('day'), name='tag_day_once')],
            },
        ),
        migrations.CreateModel(
            name='TagFollow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('tag', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tags.tag')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'followed tag',
                'verbose_name_plural': 'followed tags',
                'indexes': [models.Index(fields=['user', '-id'], name='tag_follow_list')],
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('tag'), name='tag_follow_once')],
            },
        ),
        migrations.CreateModel(
            name='TagUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('post_id', models.BigIntegerField()),
                ('is_public', models.BooleanField()),
                ('tag', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tags.tag')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('is_public', True)), fields=['tag', '-post_id'], name='tag_use_public')],
                'constraints': [models.UniqueConstraint(models.F('post_id'), models.F('tag'), name='tag_use_once')],
            },
        ),
    ]
