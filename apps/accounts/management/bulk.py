"""Makes accounts in bulk, for commands that load data. People sign up through `actions.register`."""

from collections.abc import Collection

from django.db import connection, transaction

from apps.accounts.models import User

# Existing handles are skipped before the insert, because a conflict would use up an id, and ids have only 28 bits. The
# sorted insert avoids deadlocks when two processes insert the same accounts. A password is "!" and a random text, which
# is how Django marks an unusable password.
_MAKE = """
INSERT INTO accounts_user (handle, password, {columns})
SELECT missing.handle, '!' || replace(gen_random_uuid()::text, '-', ''), {values}
FROM unnest(%s::text[]) AS missing(handle)
WHERE missing.handle NOT IN (SELECT u.handle FROM accounts_user u WHERE u.handle = ANY(%s))
ORDER BY missing.handle COLLATE "C"
ON CONFLICT (handle) DO NOTHING
RETURNING id
"""
_COUNTS = """
INSERT INTO accounts_usercounts (user_id, followers, following, posts, last_post_id, wrote_restricted, knows_circles)
SELECT made.id, 0, 0, 0, 0, false, false FROM unnest(%s::bigint[]) AS made(id)
"""


def make_accounts(handles: Collection[str]) -> int:
    """Insert an account, with an unusable password, for each handle that has none. Returns how many were inserted.

    The caller must have validated the handles.
    """
    blank = User()
    fields = [  # columns with a database default are left out
        field
        for field in User._meta.local_concrete_fields
        if not (field.primary_key or field.has_db_default() or field.name in {"handle", "password"})
    ]
    sql = _MAKE.format(
        columns=", ".join(str(field.column) for field in fields),
        values=", ".join(["%s"] * len(fields)),
    )
    values = [
        field.get_db_prep_save(field.value_from_object(blank), connection) for field in fields
    ]
    wanted = sorted(set(handles))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, [*values, wanted, wanted])
        made = [user_id for (user_id,) in cursor.fetchall()]
        cursor.execute(_COUNTS, [made])
    return len(made)
