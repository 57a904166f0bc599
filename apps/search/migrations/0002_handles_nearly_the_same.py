"""An index by trigrams of handles: also those that are nearly what somebody typed are found."""

from django.db import migrations


class Migration(migrations.Migration):
    atomic = False  # an index is built beside the writers

    dependencies = [("search", "0001_initial"), ("accounts", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "CREATE EXTENSION IF NOT EXISTS pg_trgm", reverse_sql=migrations.RunSQL.noop
        ),
        migrations.RunSQL(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS search_handle_trigrams"
            " ON accounts_user USING gin (handle gin_trgm_ops)",
            reverse_sql="DROP INDEX CONCURRENTLY IF EXISTS search_handle_trigrams",
        ),
    ]
