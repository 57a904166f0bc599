from django.db import migrations, models

POLICIES = [
    ("push", "push to everybody"),
    ("online", "push to those online"),
    ("pull", "pull at read time"),
    ("auto", "whichever costs least"),
    ("site", "the site's policy"),
]


class Migration(migrations.Migration):
    dependencies = [("timeline", "0003_span_stamp")]

    operations = [
        migrations.AddField(
            model_name="authorpolicy",
            name="in_canary",
            field=models.BooleanField(default=False, verbose_name="in the canary"),
        ),
        migrations.AddField(
            model_name="policychange",
            name="percent",
            field=models.PositiveSmallIntegerField(
                blank=True, null=True, verbose_name="canary, % of authors"
            ),
        ),
        migrations.AddField(
            model_name="sitepolicy",
            name="canary",
            field=models.CharField(
                blank=True, choices=POLICIES, default="", max_length=6, verbose_name="policy of the canary"
            ),
        ),
        migrations.AddField(
            model_name="sitepolicy",
            name="canary_percent",
            field=models.PositiveSmallIntegerField(default=0, verbose_name="canary, % of authors"),
        ),
    ]
