from contextlib import suppress

from django.core.files.storage import storages
from django.db import migrations


def drop_drawn_pictures(apps, schema_editor):
    """Drop the drawn pictures of an earlier release: their names do not say of which post. They are drawn again when asked for."""
    storage = storages["private"]
    with suppress(FileNotFoundError):
        for folder in storage.listdir("cards")[0]:
            for name in storage.listdir(f"cards/{folder}")[1]:
                storage.delete(f"cards/{folder}/{name}")


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('posts', '0017_index_of_files'),
    ]

    operations = [
        migrations.RunPython(drop_drawn_pictures, migrations.RunPython.noop),
    ]
