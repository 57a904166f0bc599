from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("operations", "0003_cache_epochs")]

    operations = [
        migrations.AddField(
            model_name="cacheepoch",
            name="table",
            field=models.PositiveBigIntegerField(default=0),
        ),
    ]
