from django.db import migrations, models

import apps.sql


class Migration(migrations.Migration):
    dependencies = [("audit", "0005_rounds")]

    operations = [
        migrations.AlterField(
            model_name=model,
            name=name,
            field=models.DateTimeField(default=apps.sql.database_time, **options),
        )
        for model, name, options in (
            ("auditrun", "started_at", {"verbose_name": "at"}),
            ("auditround", "began_at", {}),
            ("auditfinding", "found_at", {"verbose_name": "found at"}),
            ("auditfinding", "last_found_at", {"verbose_name": "last found at"}),
        )
    ]
