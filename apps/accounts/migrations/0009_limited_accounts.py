from django.db import migrations, models


class Migration(migrations.Migration):
    """Accounts whose posts reach their followers only."""

    dependencies = [
        ("accounts", "0008_picture_texts_and_quote_policy"),
    ]

    operations = [
        migrations.AddField(
            "user",
            "limited_at",
            models.DateTimeField(blank=True, editable=False, null=True, verbose_name="limited at"),
        ),
    ]
