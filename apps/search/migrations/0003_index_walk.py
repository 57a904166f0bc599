from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('search', '0002_handles_nearly_the_same'),
    ]

    operations = [
        migrations.CreateModel(
            name='IndexWalk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField(default=0)),
                ('after', models.BigIntegerField(default=0, verbose_name='up to post')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
            ],
            options={
                'verbose_name': 'walk of the index',
                'verbose_name_plural': 'walk of the index',
            },
        ),
        migrations.AlterModelOptions(
            name='trendingpost',
            options={'verbose_name': 'trending post', 'verbose_name_plural': 'trending posts'},
        ),
    ]
