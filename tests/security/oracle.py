"""Who may see which post, said in SQL over the rows: nothing of the site's own gate is used here."""

from django.db import connection

from tests.security.world import Made, World

_ALLOWED = """
SELECT p.id FROM posts_post p
JOIN accounts_user a ON a.id = p.author_id
LEFT JOIN accounts_user v ON v.id = %(viewer)s AND v.suspended_at IS NULL
WHERE p.id = ANY(%(ids)s)
  AND (p.deleted_at IS NULL AND a.suspended_at IS NULL OR %(gone)s)
  AND (p.hidden_at IS NULL OR p.author_id = v.id)
  AND NOT EXISTS (
      SELECT FROM graph_block b
      WHERE (b.owner_id = v.id AND b.blocked_id = a.id) OR (b.owner_id = a.id AND b.blocked_id = v.id)
  )
  AND (
      p.visibility IN ('public', 'unlisted')
      OR p.author_id = v.id
      OR (p.visibility IN ('followers', 'mentioned')
          AND EXISTS (SELECT FROM posts_mention m WHERE m.post_id = p.id AND m.user_id = v.id))
      OR (p.visibility = 'followers'
          AND EXISTS (SELECT FROM graph_follower f WHERE f.owner_id = a.id AND f.follower_id = v.id))
      OR (p.visibility = 'friends'
          AND EXISTS (SELECT FROM graph_followee f WHERE f.owner_id = a.id AND f.followee_id = v.id)
          AND EXISTS (SELECT FROM graph_followee f WHERE f.owner_id = v.id AND f.followee_id = a.id))
      OR (p.visibility = 'circle'
          AND EXISTS (SELECT FROM graph_circlemember c JOIN graph_circle g ON g.id = c.group_id
                      WHERE c.group_id = p.circle_id AND g.deleted_at IS NULL
                        AND (c.member_id = v.id OR g.owner_id = v.id)))
  )
"""


def visible(world: World, viewer: str, *, gone: bool = False) -> set[str]:
    """The names of the posts that a viewer may see now;
    with those that are `gone` as if they, and their author, were there.
    """
    person = world.people.get(viewer)
    ids = [one.id for one in world.posts.values()]
    with connection.cursor() as sql:
        sql.execute(_ALLOWED, {"viewer": person.pk if person else None, "ids": ids, "gone": gone})
        allowed = {row[0] for row in sql.fetchall()}

    def seen(one: Made) -> bool:
        return one.id in allowed and (one.source is None or one.source.id in allowed)

    return {name for name, one in world.posts.items() if seen(one)}
