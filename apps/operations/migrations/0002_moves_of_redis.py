from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('operations', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='topologyversion',
            name='action',
            field=models.CharField(choices=[('add_l1', 'L1 group added'), ('replace', 'node replaced'), ('drain', 'drained'), ('flush', 'class flushed'), ('rollback', 'rolled back'), ('move', 'moved')], max_length=8, verbose_name='what'),
        ),
    ]
