from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_user_hides_replies"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="user",
            options={
                "permissions": [
                    (
                        "rescue_user",
                        "Can mail links to new passwords, give addresses, reset second factors",
                    )
                ],
                "verbose_name": "user",
                "verbose_name_plural": "users",
            },
        ),
        migrations.AlterField(
            model_name="mail",
            name="kind",
            field=models.CharField(
                choices=[
                    ("confirm_email", "confirm an address"),
                    ("email_changed", "another address was given"),
                    ("email_by_staff", "another address was given by staff"),
                    ("password_reset", "a new password"),
                    ("factor_reset", "the second factor was reset"),
                ],
                max_length=20,
                verbose_name="kind",
            ),
        ),
    ]
