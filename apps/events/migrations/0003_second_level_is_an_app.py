"""Events that wait for the second level, by the names that its handlers had in apps.timeline."""

from django.db import migrations

RENAMED = {
    "apps.timeline.handlers.update_second_level": "apps.second_level.handlers.update_span",
    "apps.timeline.handlers.update_second_levels": "apps.second_level.handlers.update_spans",
}
RENAME = "UPDATE events_event SET subscriber = %s WHERE subscriber = %s AND state IN ('pending', 'dead')"


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0002_times_of_postgresql"),
    ]

    operations = [
        migrations.RunSQL([(RENAME, [now, before])], [(RENAME, [before, now])]) for before, now in RENAMED.items()
    ]
