"""One marker for each timeline that is read; what was read of the notifications is taken over."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

TAKE_OVER = """
INSERT INTO notifications_readmarker (user_id, timeline, last_read_id, version, updated_at)
SELECT user_id, 'notifications', last_read_id, 1, now() FROM notifications_oldmarker
"""


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RenameModel("ReadMarker", "OldMarker"),
        migrations.CreateModel(
            name="ReadMarker",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "timeline",
                    models.CharField(
                        choices=[("home", "home"), ("notifications", "notifications")],
                        max_length=13,
                        verbose_name="timeline",
                    ),
                ),
                ("last_read_id", models.BigIntegerField(default=0, verbose_name="last read")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                (
                    "updated_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="updated at"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "read marker",
                "verbose_name_plural": "read markers",
                "constraints": [
                    models.UniqueConstraint("user", "timeline", name="read_marker_once")
                ],
            },
        ),
        migrations.RunSQL(TAKE_OVER, migrations.RunSQL.noop),
        migrations.DeleteModel("OldMarker"),
    ]
