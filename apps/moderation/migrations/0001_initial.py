import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
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
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('category', models.CharField(choices=[('spam', 'It is spam'), ('legal', 'It is against the law'), ('violation', 'It breaks the rules of this site'), ('other', 'Something else')], default='other', max_length=9, verbose_name='category')),
                ('comment', models.TextField(blank=True, max_length=1000, verbose_name='comment')),
                ('rule_ids', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), blank=True, db_default=[], default=list, size=None, verbose_name='rules')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at')),
                ('resolved_at', models.DateTimeField(blank=True, null=True, verbose_name='resolved at')),
                ('outcome', models.TextField(blank=True, verbose_name='outcome')),
                ('reporter', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('resolved_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('target', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'report',
                'verbose_name_plural': 'reports',
            },
        ),
        migrations.CreateModel(
            name='ReportedPost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('post', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='posts.post')),
                ('report', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='posts', to='moderation.report')),
            ],
            options={
                'verbose_name': 'reported post',
                'verbose_name_plural': 'reported posts',
            },
        ),
        migrations.AddIndex(
            model_name='report',
            index=models.Index(condition=models.Q(('resolved_at', None)), fields=['-id'], name='report_open'),
        ),
        migrations.AddIndex(
            model_name='report',
            index=models.Index(fields=['target', '-id'], name='report_target'),
        ),
        migrations.AddIndex(
            model_name='report',
            index=models.Index(fields=['reporter', '-id'], name='report_reporter'),
        ),
        migrations.AddIndex(
            model_name='reportedpost',
            index=models.Index(fields=['post'], name='reported_post_mirror'),
        ),
        migrations.AddConstraint(
            model_name='reportedpost',
            constraint=models.UniqueConstraint(models.F('report'), models.F('post'), name='reported_post_once'),
        ),
    ]
