from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("previews", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="preview",
            name="started_at",
            field=models.DateTimeField(null=True),
        ),
    ]
