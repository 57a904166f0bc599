from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """The member of staff who handles a report."""

    dependencies = [
        ("moderation", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            "report",
            "assignee",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=models.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="assigned to",
            ),
        ),
    ]
