"""Removes canaries, which were policies on trial for a share of the authors. These authors get the policy of the site.

Processes of 0.2.0 use the columns during the upgrade. So the columns stay, with defaults, until a release after 0.3.0
drops them. Authors who are pulled stay so until `maintain_policies` has pushed their posts, as after any switch.
"""

from django.db import migrations

_LEAVE = """
UPDATE timeline_authorpolicy SET policy = 'site', mode = CASE WHEN mode = 'pull' THEN mode END, in_canary = false
WHERE in_canary
"""
# In the history, a change of a canary becomes a change of the site's policy to itself, with the canary as its reason.
_TELL = """
UPDATE timeline_policychange SET before = CASE WHEN percent > 0 THEN before ELSE after END,
    after = CASE WHEN percent > 0 THEN before ELSE after END,
    reason = concat_ws(': ', format('canary, %s %% of authors, %s', percent, after), nullif(reason, ''))
WHERE percent IS NOT NULL
"""
_STAY = """
UPDATE timeline_sitepolicy SET canary = '', canary_percent = 0;
ALTER TABLE timeline_authorpolicy ALTER COLUMN in_canary SET DEFAULT false;
ALTER TABLE timeline_sitepolicy ALTER COLUMN canary SET DEFAULT '', ALTER COLUMN canary_percent SET DEFAULT 0
"""


class Migration(migrations.Migration):
    dependencies = [
        ("timeline", "0005_times_of_postgresql"),
    ]

    operations = [
        migrations.RunSQL(_LEAVE),
        migrations.RunSQL(_TELL),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_STAY)],
            state_operations=[
                migrations.RemoveField(model_name="authorpolicy", name="in_canary"),
                migrations.RemoveField(model_name="policychange", name="percent"),
                migrations.RemoveField(model_name="sitepolicy", name="canary"),
                migrations.RemoveField(model_name="sitepolicy", name="canary_percent"),
            ],
        ),
    ]
