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
            name='Filter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=100, verbose_name='title')),
                ('places', models.JSONField(default=list, verbose_name='places')),
                ('act', models.CharField(choices=[('warn', 'Hide it behind a warning'), ('hide', 'Hide it completely')], default='warn', max_length=4, verbose_name='what it does')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'filter',
                'verbose_name_plural': 'filters',
            },
        ),
        migrations.CreateModel(
            name='FilterKeyword',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('keyword', models.CharField(max_length=200, verbose_name='keyword')),
                ('whole_word', models.BooleanField(default=True, verbose_name='whole words only')),
                ('filter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keywords', to='filters.filter')),
            ],
        ),
        migrations.CreateModel(
            name='FilterPost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('post_id', models.BigIntegerField()),
                ('filter', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='posts', to='filters.filter')),
            ],
        ),
        migrations.AddIndex(
            model_name='filter',
            index=models.Index(fields=['owner', 'id'], name='filter_of_owner'),
        ),
        migrations.AddConstraint(
            model_name='filterpost',
            constraint=models.UniqueConstraint(models.F('filter'), models.F('post_id'), name='filter_post_once'),
        ),
    ]
