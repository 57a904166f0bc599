from django.db import migrations, models


class Migration(migrations.Migration):
    """The language of a report, for queues by language."""

    dependencies = [
        ("moderation", "0002_report_assignee"),
    ]

    operations = [
        migrations.AddField(
            "report",
            "language",
            models.CharField(
                blank=True, db_default="", default="", max_length=10, verbose_name="language"
            ),
        ),
    ]
