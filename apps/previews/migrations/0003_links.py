from django.contrib.postgres.indexes import HashIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # builds the indexes concurrently, so that posts get previews meanwhile

    dependencies = [
        ("previews", "0002_started_at"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="preview",
            index=HashIndex(fields=["url"], name="preview_url"),
        ),
        AddIndexConcurrently(
            model_name="previewedpost",
            index=models.Index(fields=["preview", "post_id"], name="previewed_posts_of"),
        ),
    ]
