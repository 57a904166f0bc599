import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

CHOICES = [('accept', 'accept'), ('filter', 'hold back'), ('drop', 'hide')]


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0004_unwanted_kinds'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NotificationPolicy',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('for_not_following', models.CharField(choices=CHOICES, default='accept', max_length=6, verbose_name="by people you don't follow")),
                ('for_not_followers', models.CharField(choices=CHOICES, default='accept', max_length=6, verbose_name="by people who don't follow you")),
                ('for_new_accounts', models.CharField(choices=CHOICES, default='accept', max_length=6, verbose_name='by new accounts')),
                ('for_private_mentions', models.CharField(choices=CHOICES, default='accept', max_length=6, verbose_name="private mentions by people you don't follow")),
            ],
            options={
                'verbose_name': 'notification policy',
                'verbose_name_plural': 'notification policies',
            },
        ),
        migrations.CreateModel(
            name='NotificationPermission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('actor'), name='notification_permission_once')],
            },
        ),
    ]
