import apps.search.models
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        TrigramExtension(),
        # on a table of another app, but only for searches: finds handles that are similar to the typed text
        migrations.RunSQL(
            "CREATE INDEX search_handle_trigrams ON accounts_user USING gin (handle gin_trgm_ops)",
            reverse_sql="DROP INDEX search_handle_trigrams",
        ),
        migrations.CreateModel(
            name='IndexWalk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField(default=0)),
                ('after', models.BigIntegerField(default=0, verbose_name='up to post')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
            ],
            options={
                'verbose_name': 'index progress',
                'verbose_name_plural': 'index progress',
            },
        ),
        migrations.CreateModel(
            name='PersonEntry',
            fields=[
                ('user_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('words', apps.search.models.WordsField()),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['words'], name='search_person_words')],
            },
        ),
        migrations.CreateModel(
            name='PostEntry',
            fields=[
                ('post_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('author_id', models.BigIntegerField()),
                ('is_public', models.BooleanField()),
                ('words', apps.search.models.WordsField()),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['words'], name='search_post_words'), models.Index(fields=['author_id', '-post_id'], name='search_post_author')],
            },
        ),
        migrations.CreateModel(
            name='TrendingPost',
            fields=[
                ('post_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('score', models.FloatField()),
            ],
            options={
                'verbose_name': 'trending post',
                'verbose_name_plural': 'trending posts',
                'indexes': [models.Index(fields=['-score', '-post_id'], name='search_trending')],
            },
        ),
        migrations.CreateModel(
            name='Dismissal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('other', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('owner'), models.F('other'), name='dismissal_once')],
            },
        ),
    ]
