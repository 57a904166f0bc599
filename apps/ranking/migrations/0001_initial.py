import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RankingChoice',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('preset', models.CharField(choices=[('newest', 'Newest first'), ('balanced', 'Balanced'), ('discussed', 'Most discussed')], max_length=9, verbose_name='preset')),
            ],
            options={
                'verbose_name': 'ranking choice',
                'verbose_name_plural': 'ranking choices',
            },
        ),
        migrations.CreateModel(
            name='RankSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('preset', models.CharField(choices=[('newest', 'Newest first'), ('balanced', 'Balanced'), ('discussed', 'Most discussed')], max_length=9, verbose_name='preset')),
                ('entries', models.JSONField(default=list, verbose_name='entries')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='since')),
                ('viewer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'ranking',
                'verbose_name_plural': 'rankings',
                'indexes': [models.Index(fields=['viewer', '-id'], name='rank_session_of'), models.Index(fields=['made_at'], name='rank_session_age')],
            },
        ),
    ]
