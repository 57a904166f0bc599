import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

CHOICES = [
    ("warn", "Warning"),
    ("hide", "Post hidden"),
    ("sensitive", "Pictures marked as sensitive"),
    ("limit", "Account limited"),
    ("freeze", "Account frozen"),
    ("suspend", "Account suspended"),
]


def person(on_delete, **options):
    return models.ForeignKey(
        db_index=False,
        on_delete=on_delete,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
        **options,
    )


def staff():
    return person(django.db.models.deletion.SET_NULL, blank=True, null=True)


def key():
    return models.BigAutoField(
        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
    )


def now():
    return models.DateTimeField(
        db_default=django.db.models.functions.datetime.Now(), verbose_name="created at"
    )


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("moderation", "0003_report_language"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Strike",
            fields=[
                ("id", key()),
                (
                    "measure",
                    models.CharField(choices=CHOICES, max_length=9, verbose_name="measure"),
                ),
                ("post_id", models.BigIntegerField(blank=True, null=True, verbose_name="post")),
                ("rule_ids", models.JSONField(default=list, verbose_name="rules")),
                (
                    "text",
                    models.TextField(
                        blank=True, max_length=1000, verbose_name="message to the person"
                    ),
                ),
                ("evidence", models.JSONField(default=dict)),
                ("created_at", now()),
                (
                    "undone_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="taken back at"),
                ),
                ("by", staff()),
                (
                    "report",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="strikes",
                        to="moderation.report",
                    ),
                ),
                ("undone_by", staff()),
                ("user", person(django.db.models.deletion.CASCADE)),
            ],
            options={
                "verbose_name": "strike",
                "verbose_name_plural": "strikes",
                "indexes": [
                    models.Index(fields=["user", "-id"], name="strike_list"),
                    models.Index(
                        condition=models.Q(("report", None), _negated=True),
                        fields=["report", "id"],
                        name="strike_of_report",
                    ),
                    models.Index(fields=["created_at"], name="strike_age"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Appeal",
            fields=[
                ("id", key()),
                ("text", models.TextField(max_length=1000, verbose_name="appeal")),
                ("created_at", now()),
                (
                    "decided_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="decided at"),
                ),
                ("is_accepted", models.BooleanField(default=False, verbose_name="accepted")),
                ("answer", models.TextField(blank=True, max_length=1000, verbose_name="answer")),
                ("decided_by", staff()),
                (
                    "strike",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="appeal",
                        to="strikes.strike",
                    ),
                ),
            ],
            options={
                "verbose_name": "appeal",
                "verbose_name_plural": "appeals",
                "indexes": [
                    models.Index(
                        condition=models.Q(("decided_at", None)), fields=["id"], name="appeal_open"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                ("id", key()),
                ("text", models.TextField(max_length=1000, verbose_name="note")),
                ("created_at", now()),
                ("by", staff()),
                ("user", person(django.db.models.deletion.CASCADE)),
            ],
            options={
                "verbose_name": "note",
                "verbose_name_plural": "notes",
                "indexes": [models.Index(fields=["user", "-id"], name="strike_note_list")],
            },
        ),
        migrations.CreateModel(
            name="Evidence",
            fields=[
                ("id", key()),
                ("post_id", models.BigIntegerField()),
                ("seen", models.JSONField()),
                (
                    "report",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="evidence",
                        to="moderation.report",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("report"), models.F("post_id"), name="evidence_once"
                    )
                ],
            },
        ),
    ]
