from django.db import migrations, models

# Notifications that readers' policies have hidden until now stay out of their lists, and become held back.
HOLD_BACK_WHAT_WAS_HIDDEN = """
UPDATE notifications_notification n SET is_held_back = true
FROM notifications_notificationpolicy policy, accounts_user actor
WHERE policy.user_id = n.user_id AND actor.id = n.actor_id AND n.kind NOT IN ('poll', 'edit', 'post')
  AND NOT EXISTS (
      SELECT FROM notifications_notificationpermission p WHERE p.user_id = n.user_id AND p.actor_id = n.actor_id)
  AND (policy.for_new_accounts <> 'accept' AND actor.created_at > now() - interval '30 days'
    OR policy.for_not_followers <> 'accept' AND NOT EXISTS (
        SELECT FROM graph_follower f WHERE f.owner_id = n.user_id AND f.follower_id = n.actor_id)
    OR (policy.for_not_following <> 'accept'
        OR policy.for_private_mentions <> 'accept' AND EXISTS (
            SELECT FROM posts_post post WHERE post.id = n.post_id AND post.visibility = 'mentioned'))
      AND NOT EXISTS (
          SELECT FROM graph_followee f WHERE f.owner_id = n.user_id AND f.followee_id = n.actor_id))
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_user_hides_replies"),
        ("graph", "0003_pending_follow"),
        ("notifications", "0001_initial"),
        ("posts", "0005_pending_post"),
    ]

    operations = [
        migrations.AddField(
            model_name="notification",
            name="is_held_back",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="held back"
            ),
        ),
        migrations.RunSQL(HOLD_BACK_WHAT_WAS_HIDDEN, migrations.RunSQL.noop),
    ]
