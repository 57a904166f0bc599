"""People and posts of benchmarks, made in bulk by PostgreSQL itself: a million posts in half a minute."""

from django.db import connection

from apps.accounts.bulk import make_accounts
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_handle
from apps.ids import EPOCH

_POSTS = """
INSERT INTO posts_post (id, author_id, kind, body, content_warning, language, visibility, thread_id, version, created_at)
SELECT id, author_id, 'text', 'A post of some words, as people write them, number ' || n, '', 'en', 'public', id, 1,
    to_timestamp(second)
FROM (
    SELECT ((second - %(epoch)s) << 28 | author_id) << 4 AS id, *
    FROM (
        SELECT u.id AS author_id, n, %(begin)s + n * %(apart)s + u.id %% %(apart)s AS second
        FROM accounts_user u, generate_series(1, %(each)s) AS n WHERE u.handle LIKE %(handles)s
    ) AS written
) AS numbered
"""
_FOLLOW = """
INSERT INTO {table} (owner_id, {other}_id, created_at)
SELECT {columns}, now() FROM accounts_user WHERE handle LIKE %s ORDER BY md5(handle || %s) LIMIT %s
"""


def write_posts(handles: str, authors: int, each: int, *, begin: int, apart: int) -> None:
    """New accounts whose handles begin alike, each with so many posts, one in `apart` seconds from `begin` on."""
    make_accounts([f"{handles}{number}" for number in range(authors)])
    values: dict[str, int | str] = {
        "epoch": EPOCH,
        "begin": begin,
        "apart": apart,
        "each": each,
        "handles": f"{handles}%",
    }
    with connection.cursor() as sql:
        sql.execute(_POSTS, values)


def make_reader(handle: str, followees: str, most: int | None = None) -> User:
    """An account that follows those whose handles begin alike: all, or `most` of them, not the same as the next reader."""
    make_accounts([handle])
    reader, followed = user_by_handle(handle), 0
    with connection.cursor() as sql:
        for table, other, columns in (
            ("graph_followee", "followee", "%s, id"),
            ("graph_follower", "follower", "id, %s"),
        ):
            statement = _FOLLOW.format(table=table, other=other, columns=columns)
            sql.execute(statement, [reader.pk, f"{followees}%", handle, most])
            followed = sql.rowcount
    UserCounts.objects.filter(pk=reader.pk).update(following=followed, graph_revision=1)
    return user_by_handle(handle)
