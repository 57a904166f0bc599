"""Many accounts at once, for loaders of data. People sign up through `actions.register`."""

from collections.abc import Collection

from django.db import connection

from apps.accounts.models import User

# Handles that exist are left out before the insert: a conflict would use up an id, and ids end at 28 bits.
# The order keeps two loaders that make the same accounts from waiting for each other in a circle.
# The passwords are unusable (Django's mark is the "!") and differ, as Django's own do.
_MAKE = """
WITH made AS (
    INSERT INTO accounts_user (handle, password, {columns})
    SELECT wanted.handle, '!' || replace(gen_random_uuid()::text, '-', ''), {values}
    FROM unnest(%s::text[]) AS wanted(handle)
    WHERE NOT EXISTS (SELECT FROM accounts_user u WHERE u.handle = wanted.handle)
    ORDER BY wanted.handle COLLATE "C"
    ON CONFLICT (handle) DO NOTHING
    RETURNING id
)
INSERT INTO accounts_usercounts (user_id, followers, following, posts, last_post_id)
SELECT id, 0, 0, 0, 0 FROM made
"""


def make_accounts(handles: Collection[str]) -> int:
    """Make the accounts that are missing among valid handles, without a password; how many were made."""
    blank = User()
    fields = [  # what the database has a default for is left to it
        field
        for field in User._meta.local_concrete_fields  # noqa: SLF001 -- Django's documented name
        if not (field.primary_key or field.has_db_default() or field.name in {"handle", "password"})
    ]
    sql = _MAKE.format(
        columns=", ".join(str(field.column) for field in fields),
        values=", ".join(["%s"] * len(fields)),
    )
    values = [
        field.get_db_prep_save(field.value_from_object(blank), connection) for field in fields
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, sorted(set(handles))])
        made: int = cursor.rowcount
    return made
