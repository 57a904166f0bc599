from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('posts', '0005_pending_post'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='post',
            options={'permissions': [('read_restricted_post', 'Can read posts that are not for everybody')], 'verbose_name': 'post', 'verbose_name_plural': 'posts'},
        ),
    ]
