import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='TopologyVersion',
            fields=[
                ('version', models.PositiveIntegerField(primary_key=True, serialize=False, verbose_name='version')),
                ('action', models.CharField(choices=[('add_l1', 'L1 group added'), ('replace', 'node replaced'), ('drain', 'drained'), ('flush', 'class flushed'), ('rollback', 'rolled back')], max_length=8, verbose_name='what')),
                ('detail', models.CharField(max_length=300, verbose_name='detail')),
                ('made_by', models.CharField(max_length=60, verbose_name='by')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='when')),
                ('before', models.TextField(verbose_name='before')),
                ('after', models.TextField(verbose_name='after')),
            ],
            options={
                'verbose_name': 'cache change',
                'verbose_name_plural': 'cache changes',
                'ordering': ('-version',),
            },
        ),
        migrations.CreateModel(
            name='CacheNode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pool', models.CharField(choices=[('l1', 'l1'), ('main', 'main'), ('backup', 'backup')], max_length=6, verbose_name='pool')),
                ('group', models.PositiveSmallIntegerField(default=0, verbose_name='group')),
                ('slot', models.PositiveSmallIntegerField(verbose_name='slot')),
                ('name', models.CharField(max_length=60, unique=True, verbose_name='name')),
                ('url', models.CharField(max_length=200, unique=True, verbose_name='address')),
                ('megabytes', models.PositiveIntegerField(verbose_name='megabytes')),
                ('generation', models.PositiveIntegerField(verbose_name='generation')),
                ('state', models.CharField(choices=[('active', 'active'), ('joining', 'joining'), ('draining', 'draining')], max_length=8, verbose_name='state')),
            ],
            options={
                'verbose_name': 'cache node',
                'verbose_name_plural': 'cache nodes',
                'constraints': [models.UniqueConstraint(models.F('pool'), models.F('group'), models.F('slot'), name='cache_node_place_once')],
            },
        ),
    ]
