import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('graph', '0004_relation_indexes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Endorsement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
            ],
            options={
                'verbose_name': 'endorsement',
                'verbose_name_plural': 'endorsements',
            },
        ),
        migrations.AddField(
            model_name='followee',
            name='languages',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8), blank=True, db_default=[], default=list, size=None, verbose_name='languages'),
        ),
        migrations.AddField(
            model_name='followrequest',
            name='languages',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8), blank=True, db_default=[], default=list, size=None, verbose_name='languages'),
        ),
        migrations.AddField(
            model_name='endorsement',
            name='other',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='endorsement',
            name='owner',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
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
    ]
