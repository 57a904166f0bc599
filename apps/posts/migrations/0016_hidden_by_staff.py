from django.db import migrations, models


class Migration(migrations.Migration):
    """Staff hide posts from everybody but their authors, and mark pictures as sensitive."""

    dependencies = [
        ("posts", "0015_author_of_rows_is_required"),
    ]

    operations = [
        migrations.AddField(
            "post",
            "hidden_at",
            models.DateTimeField(blank=True, editable=False, null=True, verbose_name="hidden at"),
        ),
        migrations.AddField(
            "post",
            "is_marked_sensitive",
            models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
