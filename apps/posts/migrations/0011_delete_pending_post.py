"""The journal of changes of posts on several servers is gone; `migrate` refuses databases that still use it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("posts", "0010_saved_drafts")]

    operations = [migrations.DeleteModel(name="PendingPost")]
